"""The environments of a batch: each journal and client is opened once, when it is needed."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from xlbridge.api.client import Client
from xlbridge.cli.connection import connect
from xlbridge.profiles.choice import choose_profile, settings_for
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.settings import Settings
from xlbridge.upload.desk import Desk
from xlbridge.upload.journal.journal import Journal


@dataclass(slots=True)
class CommandSites:
    """The environments that a command's settings and profiles know."""

    settings: Settings
    stack: ExitStack
    _desks: dict[str | None, Desk] = field(default_factory=dict)
    _clients: dict[str | None, Client] = field(default_factory=dict)

    def name(self, profile: str | None) -> str:
        """Return the name by which the journal knows the environment."""
        return choose_profile(self._settings(profile)).name

    def desk(self, profile: str | None) -> Desk:
        """Return the environment's journal with the catalogue; nothing is asked of the system."""
        if profile not in self._desks:
            settings = self._settings(profile)
            settings = settings_for(settings, choose_profile(settings))
            journal = Journal(settings.journal)
            self.stack.callback(journal.close)
            self._desks[profile] = Desk(settings, load_catalogue(settings.schemas), journal)
        return self._desks[profile]

    def client(self, profile: str | None) -> Client:
        """Return a client. Raises ``ConfigError`` where there are no credentials."""
        if profile not in self._clients:
            connection = connect(self._settings(profile))
            self._clients[profile] = self.stack.enter_context(connection)
        return self._clients[profile]

    def _settings(self, profile: str | None) -> Settings:
        return self.settings if profile is None else replace(self.settings, profile=profile)


@contextmanager
def open_sites(settings: Settings) -> Iterator[CommandSites]:
    """Open the environments for one command, and close what was opened of them."""
    with ExitStack() as stack:
        yield CommandSites(settings, stack)
