"""Sheets, header rows, and the columns that headers name."""
