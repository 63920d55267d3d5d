"""Purchasing."""
