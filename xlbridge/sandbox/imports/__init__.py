"""Imports of workbooks in the sandbox, directly or through the queue."""
