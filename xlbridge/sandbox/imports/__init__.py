"""Imports of the sandbox: workbooks to records, directly or through the queue."""
