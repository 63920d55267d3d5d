"""Validate files on an executor: the tasks of workers and the messages sent and returned.

A worker first parses a file in its own process, which the file may crash; that saves a process per
file. If it does crash, the retry leaves the file to a separate parser process, so that the outcome
is the same as elsewhere. A validated sheet is sent back as plain data: bytes and texts.
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
from xlbridge.parallel.tasks import CustomSchemas, Executor, LostItem, OnDone
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
"""Dtype in which the values of each column dtype are sent; texts are sent as they are."""


@dataclass(frozen=True, slots=True)
class ColumnParts:
    """A column as plain data: its texts, None if missing; or bytes of values and missing flags."""

    name: str
    dtype: str
    texts: list[str | None] | None = field(default=None, repr=False)
    values: bytes = field(default=b"", repr=False)
    missing: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, column: pd.Series) -> "ColumnParts":
        """Return the parts of a column."""
        name, dtype, missing = str(column.name), str(column.dtype), column.isna().to_numpy()
        if dtype == "str":
            texts = [None if empty else text for text, empty in zip(column, missing, strict=True)]
            return cls(name, dtype, texts=texts)
        if dtype == "datetime64[us]":
            values: Any = column.to_numpy().view("int64")
        else:
            values = column.to_numpy(dtype=_STORAGE_DTYPES[dtype], na_value=0)
        return cls(name, dtype, values=values.tobytes(), missing=missing.tobytes())

    def to_column(self) -> Any:
        """Return the column of these parts."""
        if self.texts is not None:
            return pd.array(self.texts, dtype=self.dtype)  # type: ignore[call-overload]
        values = np.frombuffer(self.values, dtype=_STORAGE_DTYPES[self.dtype]).copy()
        if self.dtype == "datetime64[us]":
            return values.view("datetime64[us]")
        column = pd.array(values, dtype=self.dtype)  # type: ignore[call-overload]
        column[np.frombuffer(self.missing, dtype=bool)] = pd.NA
        return column


def split_frame(frame: pd.DataFrame) -> list[ColumnParts]:
    """Return the columns of a frame with a RangeIndex as plain data."""
    return [ColumnParts.of(frame[name]) for name in frame.columns]


def join_frame(parts: list[ColumnParts], rows: int) -> pd.DataFrame:
    """Return the frame of ``rows`` rows from its columns."""
    columns = {part.name: part.to_column() for part in parts}
    return pd.DataFrame(columns, index=pd.RangeIndex(rows))


@dataclass(frozen=True, slots=True)
class ReportItemParts:
    """One item of a file's report, its resource sent by name and its frames as columns."""

    item: ValidationResult
    resource: str | None = None
    frame: list[ColumnParts] = field(default_factory=list, repr=False)
    numbers: list[ColumnParts] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, item: ValidationResult, with_frame: bool) -> "ReportItemParts":
        """Return the parts of an item, optionally with its frames."""
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

    def to_item(self, file: Path, catalogue: Catalogue) -> ValidationResult:
        """Return the item of these parts, as if it had been validated here."""
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
    """Yield the results of each request, in order, as ``validate_files`` does in this process.

    A file whose workers were lost twice is a ``RefusedFile``, too. ``on_done`` is called with the
    index of each finished request, in any order, from any thread.

    Raises ``SchemaFileError`` if one of the user's schema files is wrong.
    """
    custom = CustomSchemas(schemas)
    catalogue = custom.catalogue()
    isolated = _ValidateWorkbook(
        custom if executor.shares_files else custom.packed(),
        limits,
        with_frames=with_frames,
        language=active_language(),
    )
    task = replace(isolated, parses_in_worker=True)
    sent = _sent_workbooks(requests, executor.shares_files, limits)
    outcomes = executor.run(task, sent, on_done, retry=isolated)
    for request, outcome in zip(requests, outcomes, strict=True):
        if isinstance(outcome, LostItem):
            yield [RefusedFile(request.file, _worker_lost_error())]
        else:
            known = catalogue
            if request.all_links:
                # Imported late: most requests have no links.
                from xlbridge.resources.references import linked_catalogue

                known = linked_catalogue(request.all_links, catalogue)
            results = [parts.to_item(request.file, known) for parts in outcome]
            _attach_children(results)
            yield results


def _attach_children(results: Iterable[ValidationResult]) -> None:
    """Attach to main sheets the child sheets that follow them, which are sent separately."""
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
    """A request sent to a worker, with the file's content or refusal if files are not shared."""

    request: ValidationRequest
    content: bytes | None = field(default=None, repr=False)
    refusal: XlbridgeError | None = None


def _sent_workbooks(
    requests: Iterable[ValidationRequest], shares_files: bool, limits: WorkbookLimits
) -> Iterator[_SentWorkbook]:
    for request in requests:
        if shares_files:
            yield _SentWorkbook(request)
            continue
        try:
            yield _SentWorkbook(request, content=file_content(request.file, limits))
        except (UsageError, WorkbookRefused) as refusal:
            yield _SentWorkbook(request, refusal=refusal)


@dataclass(frozen=True, slots=True)
class _ValidateWorkbook:
    """Task of a worker: validate one file.

    With ``parses_in_worker`` the worker itself parses the file, which may crash it.
    """

    schemas: CustomSchemas
    limits: WorkbookLimits
    with_frames: bool
    language: Language
    parses_in_worker: bool = False

    def __call__(self, sent: _SentWorkbook) -> list[ReportItemParts]:
        with override_language(self.language):
            return [ReportItemParts.of(item, self.with_frames) for item in self._validate(sent)]

    def _validate(self, sent: _SentWorkbook) -> list[ValidationResult]:
        if sent.refusal is not None:
            return [RefusedFile(sent.request.file, sent.refusal)]
        if sent.content is None:
            return self._validate_file(sent.request)
        with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
            copy = Path(folder, sent.request.file.name)
            copy.write_bytes(sent.content)
            return self._validate_file(replace(sent.request, file=copy))

    def _validate_file(self, request: ValidationRequest) -> list[ValidationResult]:
        source: WorkbookSource | None = None
        if self.parses_in_worker:
            source = partial(read_in_process, request.file, self.limits, request.sheet)
        return validate_file(request, self.schemas.catalogue(), self.limits, source)


def _worker_lost_error() -> WorkbookRefused:
    return WorkbookRefused(
        "worker-lost",
        Text(
            pt="O processo que validava o arquivo foi encerrado pelo sistema duas vezes.",
            en="The process that validated the file was killed by the system twice.",
        ),
        Text(
            pt="Costuma ser falta de memória: use menos processos (--workers 1) e valide de novo.",
            en="The usual cause is lack of memory: use fewer processes (--workers 1) and retry.",
        ),
    )
