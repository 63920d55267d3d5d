"""Financial: receivable and payable titles, cash statement."""
