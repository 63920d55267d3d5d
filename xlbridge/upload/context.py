"""Context of uploads: settings, catalogue and journal, and the lock of a job."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.errors import LocalFailure
from xlbridge.files import file_lock, lock_or_fail
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.settings import Settings
from xlbridge.upload.claims import ClaimedRows, ClaimScope, RowClaims
from xlbridge.upload.journal import Journal
from xlbridge.upload.journal_file import JournalMarker
from xlbridge.upload.records.write_journal import WriteState

if TYPE_CHECKING:
    from xlbridge.client import Client
    from xlbridge.wire.imports import ImportLog, ImportState


def known_numbers(settings: Settings, listing: str, client: "Client") -> tuple[int, ...]:
    """Return the numbers of a listing's records that the home's journal knows, in order.

    Of import logs these are the uploads' own, of other records those that jobs have written one by
    one, whatever the system's profile was called then.
    """
    if not settings.journal.exists() and not JournalMarker(settings.journal).is_expected:
        return ()
    found: set[str] = set()
    with closing(Journal(settings.journal)) as journal:
        whole = journal.jobs()
        for job in (*whole, *(part for parent in whole for part in journal.parts_of(parent))):
            if not job.is_of(client.identity, client.target.profile):
                continue
            if listing == _LOGS:
                found.add(str(job.last("log_id") or ""))
            if job.spec.resource == listing and job.undo_of is None:
                writes = journal.writes.each(job.id)
                found |= {one.record for one in writes if one.state is WriteState.APPLIED}
    return tuple(sorted(int(number) for number in found if number.isdecimal()))


_LOGS = "importacao"
"""Listing of the import logs."""

_JOB_BUSY = Text(
    pt="O envio {job} está em execução em outro processo.",
    en="The upload {job} is being worked on by another process.",
)


@dataclass(frozen=True, slots=True)
class UploadContext:
    """Settings, catalogue and journal of one environment: what every upload works with."""

    settings: Settings
    catalogue: Catalogue
    journal: Journal

    def claimed_elsewhere(self, scope: ClaimScope, claims: RowClaims) -> Mapping[Path, ClaimedRows]:
        """Return what jobs of the home's other profiles claim of some rows of the same system.

        They are by the files of those profiles' journals.
        """
        found = {}
        for path in self.settings.other_journals:
            with closing(Journal(path)) as journal:
                found[path] = journal.claimed(scope, claims)
        return found

    def payload_path(self, content: str) -> Path:
        """Return where the payload of that content hash is stored."""
        return self.settings.payloads / f"{content}.xlsx"

    def load_payload(self, content: str) -> bytes:
        """Return a stored payload, by its content hash.

        Raises ``LocalFailure`` when it is gone or no longer the same.
        """
        path = self.payload_path(content)
        payload = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(payload).hexdigest() != content:
            raise LocalFailure(
                Text(
                    pt="O arquivo guardado deste envio sumiu ou mudou: {path}",
                    en="The stored file of this upload is gone or has changed: {path}",
                ).format(path=path)
            )
        return payload

    @contextmanager
    def sole_claimant(
        self, scope: ClaimScope, claims: RowClaims, known: Mapping[Path, ClaimedRows]
    ) -> Iterator[None]:
        """Keep the home's other profiles from claiming rows of the same system in the block.

        Jobs in their journals that hold some of the rows and have sent nothing are abandoned.
        Raises ``PlanOutdated`` where other jobs there hold rows than those that are ``known``.
        """
        name = hashlib.sha256(scope.system.encode()).hexdigest()
        with file_lock(self.settings.home / "locks" / f"system-{name}.lock"):
            for path in self.settings.other_journals:
                with closing(Journal(path)) as journal:
                    journal.abandon_unsent(scope, claims, known.get(path, ClaimedRows()))
            yield

    def state_of(self, log: "ImportLog") -> "ImportState | None":
        """Return what a log's status means; None where neither we nor the settings know the word.

        The interface does not show the words.
        """
        # Most commands know no log.
        from xlbridge.wire.imports import ImportState

        word = (log.situacao or "").strip().casefold()
        given = {w.casefold(): meant for w, meant in self.settings.log_words.items()}
        if word in given:
            return ImportState[given[word].upper()]
        return next((state for state in ImportState if state.casefold() == word), None)


@contextmanager
def open_context(settings: Settings) -> Iterator[UploadContext]:
    """Open the journal and load the catalogue that ``settings`` name, for the length of the block.

    Nothing is asked of the remote system. Raises ``LocalDatabaseError`` when the journal cannot be
    used, ``SchemaFileError`` when an own schema file is not valid.
    """
    with closing(Journal(settings.journal)) as journal:
        yield UploadContext(settings, load_catalogue(settings.schemas), journal)


@contextmanager
def job_lock(home: Path, job_id: str) -> Iterator[None]:
    """Hold a job for the length of the block. Raises ``UsageError`` when another process does."""
    with lock_or_fail(home, job_id, _JOB_BUSY.format(job=job_id)):
        yield
