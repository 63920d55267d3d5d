"""The environments that a batch works with."""

from typing import Protocol

from xlbridge.api.client import Client
from xlbridge.upload.desk import Desk


class Sites(Protocol):
    """Opens what is needed of an environment when it is needed; None is the command's own."""

    def name(self, profile: str | None) -> str:
        """Return the name by which the journal knows the environment."""

    def desk(self, profile: str | None) -> Desk:
        """Return the environment's journal with the catalogue; nothing is asked of the system."""

    def client(self, profile: str | None) -> Client:
        """Return a client. Raises ``ConfigError`` where there are no credentials."""
