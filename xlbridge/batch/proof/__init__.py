"""Closing proof of a batch: what was sent, what became of it, what the system has."""
