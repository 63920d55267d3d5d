"""Spreadsheet-centric bulk import and export for the Business Management Integration API v2."""

__version__ = "0.1.0"
