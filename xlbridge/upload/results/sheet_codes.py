"""Codes that the system gave to the records of a sheet that was sent, by the values of a column.

Later sheets name records so, by an identifier of the user's own. The journal has the codes; what
it has not is looked up in the system.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import normalize_header
from xlbridge.resources.references import SheetLink
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job
from xlbridge.upload.payload import file_hash
from xlbridge.upload.results.retried_rows import with_retries
from xlbridge.upload.results.status_copy import row_statuses, store_remote_codes
from xlbridge.validation import display
from xlbridge.workbook.read import SheetCells, read_workbook

_MOST_ROWS_ABOVE = 50
"""Rows above a header that are looked through for it."""


class SheetCodes:
    """Codes of the records of sheets that were sent to one system; each file is read once."""

    def __init__(self, context: UploadContext, client: Client) -> None:
        self._context = context
        self._client = client
        self._codes: dict[tuple[Path, str, str], list[tuple[str, str]]] = {}

    def of(self, link: SheetLink) -> Mapping[str, str]:
        """Return the codes of a sheet's records by the values of a column of it.

        Values that stand in rows of different records lead to none of them. Raises ``UsageError``
        where the sheet was never sent, or has no such column; ``WorkbookRefused`` where it cannot
        be read.
        """
        found: dict[str, set[str]] = {}
        files = [(file, file_hash(file)) for file in _files(link.file)]
        sent = [(file, digest, self._jobs_of(digest)) for file, digest in files if digest]
        if not any(jobs for _, _, jobs in sent):
            raise UsageError(_NEVER_SENT.format(file=link.file), _SEND_FIRST)
        for file, digest, jobs in sent:
            key = file, link.column, digest
            if key not in self._codes:
                self._codes[key] = self._read(file, link.column, jobs)
            for value, code in self._codes[key]:
                found.setdefault(value, set()).add(code)
        return {value: codes.pop() for value, codes in found.items() if len(codes) == 1}

    def _read(self, file: Path, column: str, jobs: Sequence[Job]) -> list[tuple[str, str]]:
        """Return the values of a sheet's column, each with the code of its row's record."""
        if not jobs:
            return []
        values = self._values(file, column, jobs[0])
        found = []
        # The newest first: an older job may have found nothing but what the newer one wrote.
        for job in jobs:
            for row, code in self._codes_of(job).items():
                if row in values:
                    found.append((values.pop(row), code))
        return found

    def _jobs_of(self, digest: str) -> list[Job]:
        """Return the jobs that sent a file to this system, the newest first."""
        system, profile = self._client.identity, self._client.target.profile
        return [
            job
            for job in self._context.journal.jobs()
            if job.file_hash == digest and job.is_of(system, profile) and job.undo_of is None
        ]

    def _codes_of(self, job: Job) -> dict[int, str]:
        """Return the codes of the rows of a job and of its retries, by the rows of its sheet."""
        codes: dict[int, str] = {}
        for one, origins in with_retries(self._context.journal, job):
            if not one.state.is_unsent:
                store_remote_codes(self._context, self._client, one)
            statuses = row_statuses(self._context, one)
            codes |= {origins[row]: s.code for row, s in statuses.items() if s.code}
        return codes

    def _values(self, file: Path, column: str, job: Job) -> dict[int, str]:
        """Return the values of a sheet's column by Excel's row numbers."""
        limits = self._context.settings.limits
        (cells,) = read_workbook(file, limits, job.spec.sheet).sheets
        place = _place_of(cells, column)
        if place is None:
            raise UsageError(_NO_COLUMN.format(file=file, column=column))
        header, position = place
        found = cells.columns[position]
        return {
            at + 1: display(value).strip()
            for at in range(header + 1, cells.height)
            if (value := found.value(at)) is not None
        }


def _files(pattern: Path) -> list[Path]:
    """Return the files that a link names, which may be a pattern; itself where none is there."""
    return sorted(pattern.parent.glob(pattern.name)) or [pattern]


def _place_of(cells: SheetCells, name: str) -> tuple[int, int] | None:
    """Return the row of the header and the column that has a name, both from zero."""
    wanted = normalize_header(name)
    for row in range(min(cells.height, _MOST_ROWS_ABOVE)):
        for column, value in enumerate(cells.row(row)):
            if isinstance(value, str) and normalize_header(value) == wanted:
                return row, column
    return None


_NEVER_SENT = Text(
    pt="{file} não foi enviada a este sistema, ou mudou desde então: não há códigos dos seus "
    "registros.",
    en="{file} was not uploaded to this system, or was changed since: there are no codes of its "
    "records.",
)
_SEND_FIRST = Text(
    pt="Envie primeiro essa planilha, como está.", en="Upload that sheet first, as it is."
)
_NO_COLUMN = Text(pt="{file} não tem a coluna {column}.", en="{file} has no column {column}.")
