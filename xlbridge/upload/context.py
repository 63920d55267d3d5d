"""Context of uploads: settings, catalogue and journal, and the lock of a job."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from xlbridge.errors import LocalFailure
from xlbridge.files import file_lock
from xlbridge.i18n import Text
from xlbridge.profiles import choose_profile
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.settings import Settings
from xlbridge.upload.claims import ClaimedRows, ClaimScope, OwnWrites, Patience, RowClaims
from xlbridge.upload.job import Job, JobSpec
from xlbridge.upload.journal import Journal, NewRequest
from xlbridge.upload.journal_database import JournalMarker
from xlbridge.upload.planning.planned_row import JobPlan
from xlbridge.upload.row_changes import WriteState

if TYPE_CHECKING:
    from xlbridge.client import Client


def known_numbers(settings: Settings, listing: str, client: "Client") -> tuple[int, ...]:
    """Return the numbers of a listing's records that the home's journal knows, in order.

    For import logs, those of uploads; for other listings, the records that jobs wrote one by one.
    """
    if not settings.journal.exists() and not JournalMarker(settings.journal).is_expected:
        return ()
    found: set[str] = set()
    with closing(Journal(settings.journal)) as journal:
        for job in journal.requests_in(client.identity):
            if listing == _LOGS:
                found.add(str(job.known.log_id or ""))
            if job.spec.resource == listing and job.spec.undo_of is None:
                writes = journal.writes.iterate(job.id)
                found |= {write.record for write in writes if write.state is WriteState.APPLIED}
    return tuple(sorted(int(number) for number in found if number.isdecimal()))


_NONE_KNOWN = ClaimedRows()
_NOTHING: Mapping[Any, Any] = MappingProxyType({})
_OTHER_PROFILE = "outro perfil · another profile"
_LOGS = "importacao"
"""Listing of the import logs."""

_JOB_BUSY = Text(
    pt="O envio {job} está em execução em outro processo.",
    en="The upload {job} is being run by another process.",
)


@dataclass(frozen=True, slots=True)
class UploadContext:
    """Settings, catalogue and journal of one environment, shared by all its uploads."""

    settings: Settings
    catalogue: Catalogue
    journal: Journal

    def claimed_elsewhere(self, scope: ClaimScope, claims: RowClaims) -> Mapping[Path, ClaimedRows]:
        """Return the claims on rows by jobs of the home's other profiles, by journal file."""
        found = {}
        for path in self.settings.other_journals:
            with closing(Journal(path)) as journal:
                found[path] = journal.claimed(scope, claims)
        return found

    def patience_with(
        self,
        client: "Client",
        settle_seconds: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Patience:
        """Return how long a request may still arrive, and a reading may lag behind one."""
        seconds = self.settings.settle_seconds if settle_seconds is None else settle_seconds
        return Patience(max(seconds, client.least_settle), sleep)

    def own_writes(self, scope: ClaimScope, patience: Patience) -> OwnWrites:
        """Return the writes, by all profiles of the home, that a reading may not show yet."""
        own = self.journal.own_writes(scope, patience.seconds)
        for path in self.settings.other_journals if patience.seconds else ():
            with closing(Journal(path, now=self.journal.now)) as journal:
                own.merge(journal.own_writes(scope, patience.seconds))
        return own

    def payload_path(self, content: str) -> Path:
        """Return the path of the payload with the given content hash."""
        return self.settings.payloads / f"{content}.xlsx"

    def load_payload(self, content: str) -> bytes:
        """Return a stored payload by its content hash.

        Raises ``LocalFailure`` if it is missing or has changed.
        """
        path = self.payload_path(content)
        payload = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(payload).hexdigest() != content:
            raise LocalFailure(
                Text(
                    pt="O arquivo guardado deste envio sumiu ou mudou: {path}",
                    en="The stored file of this upload is gone or has changed: {path}",
                ).format(path=path),
                Text(
                    pt="Restaure a pasta de XLBRIDGE_HOME de um backup, ou envie a planilha de "
                    "novo: o que já foi gravado não é repetido.",
                    en="Restore the folder of XLBRIDGE_HOME from a backup, or send the sheet "
                    "again: what was written is not repeated.",
                    page=Text(
                        pt="Restaure a pasta do xlbridge de um backup, ou envie a planilha de "
                        "novo: o que já foi gravado não é repetido.",
                        en="Restore the folder of xlbridge from a backup, or send the sheet "
                        "again: what was written is not repeated.",
                    ),
                ),
            )
        return payload

    def create_job(
        self,
        spec: JobSpec,
        requests: Sequence[NewRequest],
        plan: JobPlan,
        note: Mapping[str, Any],
        known: ClaimedRows = _NONE_KNOWN,
        elsewhere: Mapping[Path, ClaimedRows] = _NOTHING,
        origins: Mapping[int, int] = _NOTHING,
    ) -> Job:
        """Record a job with its plan, which was based on the ``known`` claims in this journal and
        those ``elsewhere``, in the home's others. Unsent jobs there that claim any of the rows are
        abandoned.

        ``origins`` are as in ``Journal.create``, which raises ``PlanOutdated``.
        """
        if not spec.mode.channel.writes:
            return self.journal.create(spec, requests, plan, known, note, origins)
        claims = RowClaims.join(request.claims for request in requests)
        name = hashlib.sha256(spec.system.encode()).hexdigest()
        # The home's other profiles claim no rows of the same system meanwhile.
        with file_lock(self.settings.home / "locks" / f"system-{name}.lock"):
            for path in self.settings.other_journals:
                with closing(Journal(path)) as journal:
                    there = elsewhere.get(path, _NONE_KNOWN)
                    journal.abandon_unsent(spec.scope, claims, there, _OTHER_PROFILE)
            return self.journal.create(spec, requests, plan, known, note, origins)


@contextmanager
def open_context(settings: Settings, *, creates: bool = True) -> Iterator[UploadContext]:
    """Open the journal and load the catalogue for the block, without any request.

    If it ``creates`` none, a home without a journal stays so, and reads an empty one.

    Raises ``LocalDatabaseError`` if the journal cannot be used, ``SchemaFileError`` if a schema
    file of the user is not valid, ``ConfigError`` if the profile file is not.
    """
    arguments, path = choose_profile(settings).arguments, settings.journal
    with ExitStack() as stack:
        is_missing = not (path.exists() or JournalMarker(path).is_expected)
        if is_missing and not creates and not settings.home.is_file():
            folder = TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True)
            path = Path(stack.enter_context(folder), path.name)
        journal = stack.enter_context(closing(Journal(path, profile_arguments=arguments)))
        yield UploadContext(settings, load_catalogue(settings.schemas), journal)


@contextmanager
def job_lock(home: Path, job_id: str) -> Iterator[None]:
    """Lock a job for the block. Raises ``UsageError`` if another process holds it."""
    with file_lock(home / "locks" / f"{job_id}.lock", _JOB_BUSY.format(job=job_id)):
        yield
