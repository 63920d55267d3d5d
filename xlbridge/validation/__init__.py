"""Judging a sheet: from a file to findings, without the network."""
