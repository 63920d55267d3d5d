"""Rows into files: one small interface, one module per format."""
