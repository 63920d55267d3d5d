"""A body that is not what the interface documents, or not there."""

from xlbridge.i18n import Text


class Unreadable(ValueError):
    """A body that is not what the interface documents; ``reason`` says what came instead."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)
        self.reason = reason


class BrokenOff(Exception):
    """A body ended before it was whole."""
