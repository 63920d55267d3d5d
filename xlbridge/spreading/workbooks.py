"""Judging many workbooks: what one worker does, and the results in the order of the files."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Language, Text, active_language, set_language
from xlbridge.limits import WorkbookLimits
from xlbridge.spreading.carrier import Carrier, Lost, OnDone
from xlbridge.spreading.judged_parts import JudgedParts
from xlbridge.spreading.schemas import OwnSchemas
from xlbridge.validation.reports.judged import Judged, RefusedFile
from xlbridge.validation.workbook_to_judge import WorkbookToJudge
from xlbridge.workbook.safety import file_content

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
    task = _JudgeWorkbook(
        own if carrier.shares_files else own.packed(),
        limits,
        with_frames=with_frames,
        language=active_language(),
    )
    sent = _sent(workbooks, carrier.shares_files, limits)
    outcomes = carrier.run(task, sent, on_done)
    for workbook, outcome in zip(workbooks, outcomes, strict=True):
        if isinstance(outcome, Lost):
            yield [RefusedFile(workbook.file, _worker_lost())]
        else:
            yield outcome.unpack(workbook.file, catalogue)


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
    """What a worker does with a file. The parser has a process of its own there as here."""

    schemas: OwnSchemas
    limits: WorkbookLimits
    with_frames: bool
    language: Language

    def __call__(self, sent: _Sent) -> JudgedParts:
        set_language(self.language)
        return JudgedParts.of(self._found(sent), self.with_frames)

    def _found(self, sent: _Sent) -> list[Judged]:
        if sent.refusal is not None:
            return [RefusedFile(sent.workbook.file, sent.refusal)]
        catalogue = self.schemas.catalogue()
        if sent.content is None:
            return sent.workbook.found(catalogue, self.limits)
        with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
            copy = Path(folder, "workbook.xlsx")
            copy.write_bytes(sent.content)
            return replace(sent.workbook, file=copy).found(catalogue, self.limits)


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
