"""Closing proof of a batch: outcomes of all rows, compared with the records in the system."""
