"""The names of environments that need no configuration."""

EMBEDDED_PROFILE = "sandbox"
"""The embedded sandbox, in the journal and to the user."""
