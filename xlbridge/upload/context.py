"""Context and options of uploads: journal and catalogue, the mode, the options of one upload."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.errors import UsageError
from xlbridge.files import file_lock, lock_or_fail
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Mode, Resource, load_catalogue
from xlbridge.settings import Settings
from xlbridge.upload.claims import ClaimedRows, Place, RowClaims
from xlbridge.upload.job import RequestedMode
from xlbridge.upload.journal import Journal
from xlbridge.upload.journal_file import is_expected
from xlbridge.upload.record_writes import WriteState
from xlbridge.upload.row_plan import PlanOptions

if TYPE_CHECKING:
    from xlbridge.upload.consent import Consent
    from xlbridge.wire.imports import ImportLog, ImportState


def known_numbers(settings: Settings, listing: str, system: str, profile: str) -> tuple[int, ...]:
    """Return the numbers of a listing's records that the home's journal knows, in order.

    Of import logs these are the uploads' own, of other records those that jobs have written one by
    one, whatever the system's profile was called then.
    """
    if not settings.journal.exists() and not is_expected(settings.journal):
        return ()
    found: set[str] = set()
    with closing(Journal(settings.journal)) as journal:
        whole = journal.jobs()
        for job in (*whole, *(part for parent in whole for part in journal.parts_of(parent))):
            if not job.is_of(system, profile):
                continue
            if listing == _LOGS:
                found.add(str(job.last("log_id") or ""))
            if job.what.resource == listing and job.undo_of is None:
                writes = journal.writes.of(job.id)
                found |= {one.record for one in writes if one.state is WriteState.APPLIED}
    return tuple(sorted(int(number) for number in found if number.isdecimal()))


_LOGS = "importacao"
"""Listing of the import logs."""

Progress = Callable[[Text], None]


def pace_text(done: int, left: int, seconds: float) -> Text:
    """Return how many were done in a second, and the time that the rest takes at that rate."""
    rate = done / max(seconds, 0.001)
    return Text(pt=" · {rate}/s · faltam {time}", en=" · {rate}/s · {time} left").format(
        rate=f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}",
        time=timedelta(seconds=round(left / rate)),
    )


"""Receives a line about each step of an upload; it may be called often."""

Counted = Callable[[int, int], None]
"""Receives how many rows or records of an upload are done, of how many; it may be called often."""


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

    def claimed_elsewhere(self, place: Place, claims: RowClaims) -> Mapping[Path, ClaimedRows]:
        """Return what jobs of the home's other profiles claim of some rows of the same system.

        They are by the files of those profiles' journals.
        """
        found = {}
        for path in self.settings.other_journals:
            with closing(Journal(path)) as journal:
                found[path] = journal.claimed(place, claims)
        return found

    @contextmanager
    def sole_claimant(
        self, place: Place, claims: RowClaims, known: Mapping[Path, ClaimedRows]
    ) -> Iterator[None]:
        """Keep the home's other profiles from claiming rows of the same system in the block.

        Jobs in their journals that hold some of the rows and have sent nothing are abandoned.
        Raises ``PlanOutdated`` where other jobs there hold rows than those that are ``known``.
        """
        name = hashlib.sha256(place.system.encode()).hexdigest()
        with file_lock(self.settings.home / "locks" / f"system-{name}.lock"):
            for path in self.settings.other_journals:
                with closing(Journal(path)) as journal:
                    journal.make_way(place, claims, known.get(path, ClaimedRows()))
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
    journal = Journal(settings.journal)
    try:
        yield UploadContext(settings, load_catalogue(settings.schemas), journal)
    finally:
        journal.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadOptions:
    """Options of one upload.

    ``consent`` is asked once, right before the first write. ``mode`` is how the rows are sent,
    ``chunk_rows`` the most that one part of the sheet may have, ``rest_seconds`` how much time
    passes between two parts, ``at_once`` how many records are
    written at the same time where they are written one by one. ``update`` changes records that are
    there with other values, ``clear`` empties their fields where cells are empty, ``again`` is the
    reason to create what exists, ``create_unread`` creates what could not be looked up,
    ``good_rows`` sends a sheet without its rows that have errors. With ``foreign_numbers`` the
    numbers of records that a sheet carries are another system's, and lead to none here.
    ``snapshot`` reads the records of
    the rows before anything is written, without which a lost answer stays without proof;
    ``preview`` lets the system read the sheet first; ``wait`` polls until the outcome is known.
    ``progress`` is told what is being done, ``counted`` how many rows or records are done of all.
    ``settle_seconds`` is how long a request whose answer was lost may still be on its way; None
    takes the environment's own.
    """

    consent: "Consent"
    mode: RequestedMode = "auto"
    chunk_rows: int | None = None
    rest_seconds: float = 0
    at_once: int = 4
    update: bool = False
    clear: bool = False
    again: str | None = None
    create_unread: bool = False
    good_rows: bool = False
    foreign_numbers: bool = False
    snapshot: bool = True
    preview: bool = True
    wait: bool = True
    progress: Progress = lambda _text: None
    counted: Counted = lambda _done, _total: None
    settle_seconds: float | None = None
    sleep: Callable[[float], None] = time.sleep

    @property
    def planning(self) -> PlanOptions:
        """The options that decide the actions of rows."""
        return PlanOptions(
            update=self.update,
            clear=self.clear,
            again=self.again,
            create_unread=self.create_unread,
            good_rows=self.good_rows,
            look_up=self.snapshot,
        )


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """Mode that was chosen, and the reason."""

    mode: Mode
    reason: Text


_MODES_BY_ITSELF: Mapping[Mode, Text] = {
    Mode.QUEUE: Text(
        pt="fila: o resultado pode ser conferido pelo log",
        en="queue: its outcome can be checked by the log",
    ),
    Mode.DIRECT: Text(
        pt="direto: este recurso não tem fila", en="direct: this resource has no queue"
    ),
    Mode.RECORDS: Text(
        pt="registro a registro: este recurso não tem importação",
        en="record by record: this resource has no import",
    ),
}
"""Modes that ``auto`` chooses, the first that a resource has, and why."""


def choose_mode(
    resource: Resource, requested: RequestedMode, *, with_lists: bool = False
) -> ModeChoice:
    """Choose how to send a resource's sheet, ``with_lists`` one with rows in its child sheets.

    ``auto`` takes the queue where the resource has one: it is staged first, and a lost answer can
    be settled by its log; else a direct import; records one by one where there is no import, and
    for records with lists, which no import takes.
    Raises ``UsageError`` when the resource does not accept the mode.
    """
    by_record = with_lists and resource.is_imported
    if by_record and requested in {"auto", Mode.RECORDS}:
        return ModeChoice(Mode.RECORDS, _LISTS_BY_RECORD)
    if requested == "auto":
        mode = next(mode for mode in _MODES_BY_ITSELF if mode in resource.modes)
        return ModeChoice(mode, _MODES_BY_ITSELF[mode])
    mode = Mode(requested)
    if by_record:
        raise UsageError(
            Text(
                pt="O modo {mode} não leva as planilhas {names}.",
                en="The mode {mode} does not take the sheets {names}.",
            ).format(mode=mode, names=", ".join(child.sheet for child in resource.children)),
            Text(pt="Envie com --mode records.", en="Send it with --mode records."),
        )
    if mode not in resource.modes:
        raise UsageError(
            Text(
                pt="{resource} não aceita o modo {mode}; aceita: {modes}.",
                en="{resource} does not accept the mode {mode}; it accepts: {modes}.",
            ).format(resource=resource.name, mode=mode, modes=", ".join(resource.modes)),
            None if resource.is_imported else _NO_IMPORT,
        )
    return ModeChoice(
        mode, Text(pt="pedido na linha de comando", en="asked for on the command line")
    )


_LISTS_BY_RECORD = Text(
    pt="registro a registro: a importação não leva listas",
    en="record by record: an import takes no lists",
)
_NO_IMPORT = Text(
    pt="A interface não tem importação deste recurso, nem prévia: os registros são gravados um a "
    "um. Para ver o plano sem enviar, responda não à confirmação.",
    en="The interface has no import of this resource, nor a preview: its records are written one "
    "by one. To see the plan and send nothing, answer no when asked.",
)


@contextmanager
def job_lock(home: Path, job_id: str) -> Iterator[None]:
    """Hold a job for the length of the block. Raises ``UsageError`` when another process does."""
    with lock_or_fail(home, job_id, _JOB_BUSY.format(job=job_id)):
        yield
