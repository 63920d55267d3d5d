"""Turning listings into workbooks."""
