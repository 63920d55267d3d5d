"""Limits of Excel's own on what a sheet holds."""

MAX_ROWS = 1_048_576
"""Rows of a sheet."""

MAX_TEXT_LENGTH = 32_767
"""Characters of a cell's text."""
