"""Validation of files for commands, page and library: in this process or on an executor.

The validator takes most of a second to import; that happens while the first file is being read, or
the workers are starting. Source: the product brief, ``validate``.

A worker first parses a file in its own process, which the file may crash; that saves a process per
file. If it does crash, the retry leaves the file to a separate parser process, so that the outcome
is the same as elsewhere.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

# The package, whose names are imported lazily.
from xlbridge import resources, validation
from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.extras import require_extra
from xlbridge.i18n import Language, Text, active_language, override_language
from xlbridge.parallel.executors import Executor, LocalExecutor, LostItem, connect_cluster
from xlbridge.processes import available_cpus
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import ColumnProgress, ValidationRequest
from xlbridge.workbook.read import (
    WorkbookSource,
    file_content,
    prefetch_workbook,
    read_in_process,
)

if TYPE_CHECKING:
    from xlbridge.validation import ValidatedSheet, ValidationResult

_DEFAULT_LIMITS = WorkbookLimits()
_MIN_BYTES = 4 * 2**20
"""Total size of files, in bytes, below which starting processes costs more than it saves."""


@contextmanager
def executor_for(
    files: Sequence[Path], workers: int | None, scheduler: str | None
) -> Iterator[Executor | None]:
    """Open the executor for some files; None if this process suffices.

    ``workers`` is the number of local processes (None: chosen by the size of the files),
    ``scheduler`` the address of a cluster.

    Raises ``UsageError`` if both are given, ``ConfigError`` if the extra ``dask`` is not installed,
    ``TransportError`` if the cluster does not answer.
    """
    if scheduler is not None:
        if workers is not None:
            raise UsageError(
                Text(
                    pt="--workers e --scheduler não podem ser usados juntos.",
                    en="--workers and --scheduler are mutually exclusive.",
                )
            )
        require_extra("dask")
        with connect_cluster(scheduler) as cluster:
            yield cluster
        return
    count = default_worker_count(files) if workers is None else min(workers, len(files))
    if count <= 1:
        yield None
        return
    with LocalExecutor(count) as local:
        yield local


def default_worker_count(files: Sequence[Path]) -> int:
    """Return the number of processes worth starting for some files, at most one per core."""
    if sum(file.stat().st_size for file in files if file.is_file()) < _MIN_BYTES:
        return 1
    return min(available_cpus(), len(files))


@dataclass(frozen=True, slots=True)
class ValidationProgress:
    """Progress over several files: ``done`` of ``total`` are finished.

    ``file`` is being validated, at ``column``, or has just ``finished``.
    """

    file: Path
    done: int
    total: int
    finished: bool = False
    column: ColumnProgress | None = None


OnProgress = Callable[[ValidationProgress], None]
"""Callback for the start, progress and end of each file."""


def validate_files(
    requests: Sequence[ValidationRequest],
    schemas: Path,
    limits: WorkbookLimits = _DEFAULT_LIMITS,
    executor: Executor | None = None,
    *,
    with_frames: bool = True,
    on_progress: OnProgress = lambda _: None,
) -> Iterator[list["ValidationResult"]]:
    """Yield the results of each file, in the order of the requests.

    ``schemas`` is the folder of the user's schema files. A file that cannot be validated becomes a
    ``RefusedFile`` and does not stop the others. ``executor`` validates instead of this process,
    with the same results; without ``with_frames`` it returns sheets without their frames, which are
    most of the data to transfer. A file whose workers were lost twice is a ``RefusedFile``, too.

    Raises ``SchemaFileError`` if one of the user's schema files is wrong.
    """
    if executor is not None:
        yield from _validate_on_workers(
            executor, requests, schemas, limits, with_frames, on_progress
        )
        return
    if not requests:
        return
    first_limits = requests[0].limits(limits)
    with prefetch_workbook(requests[0].file, first_limits, requests[0].sheet) as first:
        catalogue = resources.load_catalogue(schemas)
        for index, request in enumerate(requests):
            progress = ValidationProgress(request.file, index, len(requests))
            on_progress(progress)

            def on_column(column: ColumnProgress, progress: ValidationProgress = progress) -> None:
                on_progress(replace(progress, column=column))

            source = first.result if index == 0 else None
            results = validation.validate_file(request, catalogue, limits, source, on_column)
            on_progress(replace(progress, done=index + 1, finished=True))
            yield results


def validate_single_sheet(
    request: ValidationRequest,
    schemas: Path,
    limits: WorkbookLimits,
) -> "ValidatedSheet":
    """Validate the requested sheet of a file, in this process.

    Raises ``WorkbookRefused`` if the file is not a readable workbook, ``UsageError`` if the file,
    sheet or resource does not exist or the resource cannot be recognised; ``SchemaFileError``.
    """
    # Child sheets follow their main sheet, which also refers to them.
    [[result, *_]] = validate_files([request], schemas, limits)
    match result:
        case validation.ValidatedSheet():
            return result
        case validation.RefusedFile():
            raise result.refusal
        case _:
            raise AssertionError(result)


_SentWorkbook = tuple[ValidationRequest, bytes | XlbridgeError | None]
"""Request for a worker, with the file's content, or why it is refused, if files are not shared."""

_NamedResult = tuple["ValidationResult", str | None]
"""Result from a worker, and the name of its resource, which is not sent."""


def _validate_on_workers(
    executor: Executor,
    requests: Sequence[ValidationRequest],
    schemas: Path,
    limits: WorkbookLimits,
    with_frames: bool,
    on_progress: OnProgress,
) -> Iterator[list["ValidationResult"]]:
    finished = count(1)

    def on_done(index: int) -> None:
        file, done = requests[index].file, next(finished)
        on_progress(ValidationProgress(file, done, len(requests), finished=True))

    catalogue = resources.load_catalogue(schemas)
    sent_schemas: Path | _SchemaFiles = schemas
    if not executor.shares_files:
        sent_schemas = tuple(
            (path.relative_to(schemas).as_posix(), path.read_bytes())
            for path in resources.schema_files(schemas)
            if path.is_relative_to(schemas)
        )
    task = _ValidationTask(sent_schemas, limits, with_frames, active_language())
    sent = ((request, _content(request, executor, limits)) for request in requests)
    retry = replace(task, is_retry=True)
    outcomes = executor.run(task, sent, on_done, retry=retry)
    for request, outcome in zip(requests, outcomes, strict=True):
        if isinstance(outcome, LostItem):
            lost = WorkbookRefused("worker-lost", _WORKER_LOST, _USE_FEWER_WORKERS)
            yield [validation.RefusedFile(request.file, lost)]
            continue
        known = catalogue
        if request.all_links:
            # Imported late: most requests have no links.
            from xlbridge.resources.links import linked_catalogue

            known = linked_catalogue(request.all_links, catalogue)
        results: list[ValidationResult] = []
        for result, resource in outcome:
            if isinstance(result, validation.ValidatedSheet):
                # Changed in place, as a main sheet has the same object as its child.
                result.file = request.file
                result.resource = None if resource is None else known[resource]
                results.append(result)
            else:
                results.append(replace(result, file=request.file))
        yield results


def _content(
    request: ValidationRequest, executor: Executor, limits: WorkbookLimits
) -> bytes | XlbridgeError | None:
    if executor.shares_files:
        return None
    try:
        return file_content(request.file, limits)
    except (UsageError, WorkbookRefused) as refusal:
        return refusal


_SchemaFiles = tuple[tuple[str, bytes], ...]
"""Names and contents of the user's schema files, for workers that do not see them."""


@cache
def _unpack(schemas: _SchemaFiles) -> tempfile.TemporaryDirectory[str]:
    """Write the files to a temporary folder, kept as long as this process."""
    folder = tempfile.TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True)
    for name, content in schemas:
        file = Path(folder.name, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


@dataclass(frozen=True, slots=True)
class _ValidationTask:
    """Task of a worker: validate a file, and parse it here unless that crashed a worker before.

    ``schemas`` is the folder of the user's schema files, or their contents.
    """

    schemas: Path | _SchemaFiles
    limits: WorkbookLimits
    with_frames: bool
    language: Language
    is_retry: bool = False

    def __call__(self, sent: _SentWorkbook) -> list[_NamedResult]:
        request, content = sent
        if isinstance(content, XlbridgeError):
            return [(validation.RefusedFile(request.file, content), None)]
        with override_language(self.language):
            if content is None:
                return self._validate(request)
            with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
                copy = Path(folder, request.file.name)
                copy.write_bytes(content)
                return self._validate(replace(request, file=copy))

    def _validate(self, request: ValidationRequest) -> list[_NamedResult]:
        source: WorkbookSource | None = None
        if not self.is_retry:
            source = partial(read_in_process, request.file, self.limits, request.sheet)
        folder = self.schemas if isinstance(self.schemas, Path) else _unpack(self.schemas).name
        catalogue = resources.load_catalogue(folder)
        named: list[_NamedResult] = []
        for result in validation.validate_file(request, catalogue, self.limits, source):
            name = None
            if isinstance(result, validation.ValidatedSheet):
                name, result.resource = result.resource_name, None
                if not self.with_frames:
                    result.frame = result.frame.iloc[:0, :0]
                    result.numbers = result.numbers.iloc[:0, :0]
                    result.source_cells = {}
            named.append((result, name))
        return named


_WORKER_LOST = Text(
    pt="O processo que validava o arquivo foi encerrado duas vezes pelo sistema operacional.",
    en="The process that validated the file was killed twice by the operating system.",
)
_USE_FEWER_WORKERS = Text(
    pt="Costuma ser falta de memória: use menos processos (--workers 1) e valide de novo.",
    en="The usual cause is lack of memory: use fewer processes (--workers 1) and retry.",
    page=Text(
        pt="Costuma ser falta de memória: feche outros programas e abra o arquivo de novo.",
        en="The usual cause is lack of memory: close other programs, and open the file again.",
    ),
)
