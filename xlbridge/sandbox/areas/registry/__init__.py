"""Registry."""
