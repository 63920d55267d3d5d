"""The closing proof of a batch: what was sent, what became of it, what is in the system."""
