"""Cells of one column: typed, parsed, and what is wrong with them."""
