"""Validate files with an executor: what travels to the workers and back.

A worker parses a file in its own process, which may be lost over it; that saves a process per
file. Where anything goes wrong the file is left to the parser's own process, so that the
outcome is the same as anywhere else. A validated sheet travels back as plain data: bytes and texts.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Language, Text, active_language, override_language
from xlbridge.parallel.tasks import Executor, LostItem, OnDone, OwnSchemas
from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import (
    RefusedFile,
    ValidatedSheet,
    ValidationRequest,
    ValidationResult,
    validate_file,
)
from xlbridge.workbook.read import WorkbookSource, file_content, read_in_process

_STORAGE_DTYPES = {
    "Int64": "int64",
    "Float64": "float64",
    "boolean": "bool",
    "datetime64[us]": "int64",
}
"""Dtype in which the values of each dtype of a column travel; texts travel as they are."""


@dataclass(frozen=True, slots=True)
class ColumnParts:
    """A column: its texts with None where there is none, or values and where they are missing."""

    name: str
    dtype: str
    texts: list[str | None] | None = field(default=None, repr=False)
    values: bytes = field(default=b"", repr=False)
    missing: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, column: pd.Series) -> "ColumnParts":
        """Take a column apart."""
        name, dtype, missing = str(column.name), str(column.dtype), column.isna().to_numpy()
        if dtype == "str":
            texts = [None if gone else text for text, gone in zip(column, missing, strict=True)]
            return cls(name, dtype, texts=texts)
        if dtype == "datetime64[us]":
            values: Any = column.to_numpy().view("int64")
        else:
            values = column.to_numpy(dtype=_STORAGE_DTYPES[dtype], na_value=0)
        return cls(name, dtype, values=values.tobytes(), missing=missing.tobytes())

    def column(self) -> Any:
        """Put the column together."""
        if self.texts is not None:
            return pd.array(self.texts, dtype=self.dtype)  # type: ignore[call-overload]
        values = np.frombuffer(self.values, dtype=_STORAGE_DTYPES[self.dtype]).copy()
        if self.dtype == "datetime64[us]":
            return values.view("datetime64[us]")
        made = pd.array(values, dtype=self.dtype)  # type: ignore[call-overload]
        made[np.frombuffer(self.missing, dtype=bool)] = pd.NA
        return made


def split_frame(frame: pd.DataFrame) -> list[ColumnParts]:
    """Take a frame with a RangeIndex apart."""
    return [ColumnParts.of(frame[name]) for name in frame.columns]


def join_frame(parts: list[ColumnParts], rows: int) -> pd.DataFrame:
    """Put a frame of so many rows together."""
    columns = {part.name: part.column() for part in parts}
    return pd.DataFrame(columns, index=pd.RangeIndex(rows))


@dataclass(frozen=True, slots=True)
class ReportItemParts:
    """One item of a file's report. A sheet's resource crosses by its name, its frame as columns."""

    item: ValidationResult
    resource: str | None = None
    frame: list[ColumnParts] = field(default_factory=list, repr=False)
    numbers: list[ColumnParts] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, item: ValidationResult, with_frame: bool) -> "ReportItemParts":
        """Take an item apart; without its frame where nobody needs it."""
        if not isinstance(item, ValidatedSheet):
            return cls(item)
        name = None if item.resource is None else item.resource.name
        columns = split_frame(item.frame) if with_frame else []
        numbers = split_frame(item.numbers) if with_frame else []
        source_cells = item.source_cells if with_frame else {}
        return cls(
            replace(item, resource=None, source_cells=source_cells, children={}),
            name,
            columns,
            numbers,
        )

    def whole(self, file: Path, catalogue: Catalogue) -> ValidationResult:
        """Put the item together, as if it had been validated here."""
        if not isinstance(self.item, ValidatedSheet):
            return replace(self.item, file=file)
        resource = None if self.resource is None else catalogue[self.resource]
        sheet = replace(self.item, file=file, resource=resource)
        if self.frame:
            sheet.frame = join_frame(self.frame, len(sheet.rows))
            sheet.numbers = join_frame(self.numbers, len(sheet.rows))
        return sheet


def validate_with_executor(
    requests: Sequence[ValidationRequest],
    schemas: Path,
    limits: WorkbookLimits,
    executor: Executor,
    *,
    with_frames: bool,
    on_done: OnDone,
) -> Iterator[list[ValidationResult]]:
    """Yield the results of each request, in their order: the same as if validated here.

    ``schemas`` is the folder of the user's own schema files. Without ``with_frames`` the sheets
    come without their frames, which are most of what has to be carried. A file that cannot be
    validated, or whose workers were lost twice, is a ``RefusedFile``. ``on_done`` gets the place
    of each request when it is done, in no order, from any thread.

    Raises ``SchemaFileError`` when an own schema file is wrong.
    """
    own = OwnSchemas(schemas)
    catalogue = own.catalogue()
    shielded = _ValidateWorkbook(
        own if executor.shares_files else own.packed(),
        limits,
        with_frames=with_frames,
        language=active_language(),
    )
    task = replace(shielded, reads_here=True)
    sent = _sent_workbooks(requests, executor.shares_files, limits)
    outcomes = executor.run(task, sent, on_done, again=shielded)
    for request, outcome in zip(requests, outcomes, strict=True):
        if isinstance(outcome, LostItem):
            yield [RefusedFile(request.file, _worker_lost_error())]
        else:
            known = catalogue
            if request.all_links:
                # Most requests have none, and the registries take their time to import.
                from xlbridge.resources.references import linked_catalogue

                known = linked_catalogue(request.all_links, catalogue)
            results = [part.whole(request.file, known) for part in outcome]
            _give_children(results)
            yield results


def _give_children(results: Iterable[ValidationResult]) -> None:
    """Give main sheets the child sheets that come after them: each travels by itself."""
    main: ValidatedSheet | None = None
    for item in results:
        if not isinstance(item, ValidatedSheet) or item.resource is None:
            continue
        if main is not None and main.resource and item.resource in main.resource.children:
            main.children = {**main.children, item.resource.sheet: item}
        else:
            main = item


@dataclass(frozen=True, slots=True)
class _SentWorkbook:
    """A workbook on its way: its path where the worker sees it, else its bytes or why not."""

    workbook: ValidationRequest
    content: bytes | None = field(default=None, repr=False)
    refusal: XlbridgeError | None = None


def _sent_workbooks(
    workbooks: Iterable[ValidationRequest], shares_files: bool, limits: WorkbookLimits
) -> Iterator[_SentWorkbook]:
    for workbook in workbooks:
        if shares_files:
            yield _SentWorkbook(workbook)
            continue
        try:
            yield _SentWorkbook(workbook, content=file_content(workbook.file, limits))
        except (UsageError, WorkbookRefused) as refusal:
            yield _SentWorkbook(workbook, refusal=refusal)


@dataclass(frozen=True, slots=True)
class _ValidateWorkbook:
    """Task of a worker: validate one file.

    ``reads_here`` leaves it to the worker's own process to parse the file, which may end it.
    """

    schemas: OwnSchemas
    limits: WorkbookLimits
    with_frames: bool
    language: Language
    reads_here: bool = False

    def __call__(self, sent: _SentWorkbook) -> list[ReportItemParts]:
        with override_language(self.language):
            return [ReportItemParts.of(item, self.with_frames) for item in self._found(sent)]

    def _found(self, sent: _SentWorkbook) -> list[ValidationResult]:
        if sent.refusal is not None:
            return [RefusedFile(sent.workbook.file, sent.refusal)]
        catalogue = self.schemas.catalogue()
        if sent.content is None:
            return self._validated(sent.workbook, catalogue)
        with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
            copy = Path(folder, sent.workbook.file.name)
            copy.write_bytes(sent.content)
            return self._validated(replace(sent.workbook, file=copy), catalogue)

    def _validated(self, wanted: ValidationRequest, catalogue: Catalogue) -> list[ValidationResult]:
        source: WorkbookSource | None = None
        if self.reads_here:
            source = partial(read_in_process, wanted.file, self.limits, wanted.sheet)
        return validate_file(wanted, catalogue, self.limits, source)


def _worker_lost_error() -> WorkbookRefused:
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
