"""What is importable: the catalogue read from ``schemas/*.yaml``."""
