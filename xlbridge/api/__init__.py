"""Talking to the remote system."""
