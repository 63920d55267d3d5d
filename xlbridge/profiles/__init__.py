"""The environments that a user has: who they are there, and where their secrets are kept."""
