"""From an uploaded workbook to records, at once or by the queue."""
