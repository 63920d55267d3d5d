"""An open batch: its plan, its ledger, and the environments that it works with."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from xlbridge.batch.ledger import Ledger
from xlbridge.batch.plan import BatchPlan
from xlbridge.client import Client
from xlbridge.connection import connect
from xlbridge.i18n import Text
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.settings import Settings
from xlbridge.upload import UploadContext, open_context


def ledger_path(settings: Settings) -> Path:
    """Return the file of the ledger of batches."""
    return settings.home / "batches.db"


@contextmanager
def open_ledger(settings: Settings) -> Iterator[Ledger]:
    """Open the ledger of batches for one command."""
    ledger = Ledger(ledger_path(settings))
    try:
        yield ledger
    finally:
        ledger.close()


@dataclass(slots=True)
class Environments:
    """The environments of a batch, opened when first needed; None is the command's own."""

    settings: Settings
    stack: ExitStack
    announce: Callable[[Text], None]
    _contexts: dict[str | None, UploadContext] = field(default_factory=dict)
    _clients: dict[str | None, Client] = field(default_factory=dict)

    def name(self, profile: str | None) -> str:
        """Return the name by which the journal knows the environment."""
        return choose_profile(self._settings(profile)).name

    def context(self, profile: str | None) -> UploadContext:
        """Return the environment's journal with the catalogue; nothing is asked of the system."""
        if profile not in self._contexts:
            settings = self._settings(profile)
            settings = settings_for(settings, choose_profile(settings))
            self._contexts[profile] = self.stack.enter_context(open_context(settings))
        return self._contexts[profile]

    def client(self, profile: str | None) -> Client:
        """Return a client. Raises ``ConfigError`` where there are no credentials."""
        if profile not in self._clients:
            connection = connect(self._settings(profile), self.announce)
            self._clients[profile] = self.stack.enter_context(connection)
        return self._clients[profile]

    def _settings(self, profile: str | None) -> Settings:
        return self.settings if profile is None else replace(self.settings, profile=profile)


@dataclass(frozen=True, slots=True)
class Batch:
    """A plan with what is known of it, and the environments that it works with.

    ``own_schemas`` is the folder of own resources that the plan was read with, None without one.
    """

    plan: BatchPlan
    ledger: Ledger
    environments: Environments
    own_schemas: Path | None = None

    @property
    def id(self) -> str:
        """The batch's name."""
        return self.plan.batch


@contextmanager
def open_environments(
    settings: Settings, announce: Callable[[Text], None]
) -> Iterator[Environments]:
    """Open the environments for one command, and close what was opened of them."""
    with ExitStack() as stack:
        yield Environments(settings, stack, announce)
