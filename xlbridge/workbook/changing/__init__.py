"""Copies of the analyst's own workbook in which all that is not changed stays, to the byte."""
