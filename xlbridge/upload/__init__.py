"""Sending a workbook: plan, journal, run, outcome."""
