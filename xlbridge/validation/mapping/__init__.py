"""Mappings: sheets with headers of their own, read as the sheets of a resource."""
