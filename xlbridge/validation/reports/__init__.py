"""What the judged workbooks amount to: as text, as JSON, as a page for a browser."""
