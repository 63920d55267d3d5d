"""Copies of the analyst's workbook: marked, mended, or moved into today's template."""
