"""Judging many workbooks: what one worker does, and the results in the order of the files."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Language, Text, active_language, speaking
from xlbridge.limits import WorkbookLimits
from xlbridge.resources.catalogue import Catalogue
from xlbridge.spreading.carrier import Carrier, Lost, OnDone
from xlbridge.spreading.judged_parts import JudgedPart
from xlbridge.spreading.reading_here import read_here
from xlbridge.spreading.schemas import OwnSchemas
from xlbridge.validation.reports.judged import Judged, RefusedFile
from xlbridge.validation.workbook_to_judge import WorkbookToJudge
from xlbridge.workbook.reading.assembly import WorkbookSource
from xlbridge.workbook.reading.parser_child import LIMITS_HOLD
from xlbridge.workbook.reading.safety import file_content

_NO_LIMITS = WorkbookLimits()


def judge_workbooks(
    workbooks: Sequence[WorkbookToJudge],
    schemas: Path,
    carrier: Carrier,
    *,
    limits: WorkbookLimits = _NO_LIMITS,
    with_frames: bool = True,
    on_done: OnDone = lambda _place: None,
) -> Iterator[list[Judged]]:
    """Yield what is found in each workbook, in their order: the same as if it was judged here.

    ``schemas`` is the folder of the user's own schema files. Without ``with_frames`` the sheets
    come without their frames, which are most of what has to be carried. A file that cannot be
    judged, or whose workers were lost twice, is a ``RefusedFile``. ``on_done`` is told the place of
    each workbook when it is judged, in no order, from any thread.

    Raises ``SchemaFileError`` when an own schema file is wrong.
    """
    own = OwnSchemas(schemas)
    catalogue = own.catalogue()
    shielded = _JudgeWorkbook(
        own if carrier.shares_files else own.packed(),
        limits,
        with_frames=with_frames,
        language=active_language(),
    )
    task = replace(shielded, reads_here=carrier.is_expendable)
    sent = _sent(workbooks, carrier.shares_files, limits)
    outcomes = carrier.run(task, sent, on_done, again=shielded)
    for workbook, outcome in zip(workbooks, outcomes, strict=True):
        if isinstance(outcome, Lost):
            yield [RefusedFile(workbook.file, _worker_lost())]
        else:
            yield [part.whole(workbook.file, catalogue) for part in outcome]


@dataclass(frozen=True, slots=True)
class _Sent:
    """A workbook on its way: its path where the worker sees it, else its bytes or why not."""

    workbook: WorkbookToJudge
    content: bytes | None = field(default=None, repr=False)
    refusal: XlbridgeError | None = None


def _sent(
    workbooks: Iterable[WorkbookToJudge], shares_files: bool, limits: WorkbookLimits
) -> Iterator[_Sent]:
    for workbook in workbooks:
        if shares_files:
            yield _Sent(workbook)
            continue
        try:
            yield _Sent(workbook, content=file_content(workbook.file, limits))
        except (UsageError, WorkbookRefused) as refusal:
            yield _Sent(workbook, refusal=refusal)


@dataclass(frozen=True, slots=True)
class _JudgeWorkbook:
    """What a worker does with a file.

    ``reads_here`` leaves it to the worker's own process to parse the file, which may end it.
    """

    schemas: OwnSchemas
    limits: WorkbookLimits
    with_frames: bool
    language: Language
    reads_here: bool = False

    def __call__(self, sent: _Sent) -> list[JudgedPart]:
        with speaking(self.language):
            return [JudgedPart.of(item, self.with_frames) for item in self._found(sent)]

    def _found(self, sent: _Sent) -> list[Judged]:
        if sent.refusal is not None:
            return [RefusedFile(sent.workbook.file, sent.refusal)]
        catalogue = self.schemas.catalogue()
        if sent.content is None:
            return self._judged(sent.workbook, catalogue)
        with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
            copy = Path(folder, "workbook.xlsx")
            copy.write_bytes(sent.content)
            return self._judged(replace(sent.workbook, file=copy), catalogue)

    def _judged(self, wanted: WorkbookToJudge, catalogue: Catalogue) -> list[Judged]:
        source: WorkbookSource | None = None
        if self.reads_here and LIMITS_HOLD:
            source = partial(read_here, wanted.file, self.limits, wanted.sheet)
        return wanted.found(catalogue, self.limits, source)


def _worker_lost() -> WorkbookRefused:
    return WorkbookRefused(
        "worker-lost",
        Text(
            pt="O processo que conferia o arquivo foi encerrado pelo sistema, duas vezes.",
            en="The process that checked the file was ended by the system, twice.",
        ),
        Text(
            pt="Costuma ser falta de memória: use menos processos (--workers 1) e confira de novo.",
            en="Mostly that is lack of memory: use fewer processes (--workers 1) and check again.",
        ),
    )
