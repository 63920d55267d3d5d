"""Financial."""
