"""Validation of files for commands, page and library: in this process or on an executor.

The validator takes most of a second to import; that happens while the first file is being read, or
the workers are starting. Source: the product brief, ``validate``.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.parallel.tasks import Executor
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import ColumnProgress, ValidationRequest
from xlbridge.workbook.read import prefetch_workbook

if TYPE_CHECKING:
    from concurrent.futures import Future

    from xlbridge.resources import Catalogue
    from xlbridge.validation import ValidatedSheet, ValidationResult
    from xlbridge.workbook.read import WorkbookCells

_DEFAULT_LIMITS = WorkbookLimits()


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
"""Callback for the start, progress and end of each file; with an executor, from any thread."""


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
    most of the data to transfer.

    Raises ``SchemaFileError`` if one of the user's schema files is wrong.
    """
    if executor is not None:
        from xlbridge.parallel.workbooks import validate_with_executor

        finished = count(1)

        def on_done(index: int) -> None:
            file, done = requests[index].file, next(finished)
            on_progress(ValidationProgress(file, done, len(requests), finished=True))

        yield from validate_with_executor(
            requests, schemas, limits, executor, with_frames=with_frames, on_done=on_done
        )
    elif requests:
        with prefetch_workbook(requests[0].file, limits, requests[0].sheet) as first:
            from xlbridge.resources import load_catalogue

            catalogue = load_catalogue(schemas)
            yield from _validate_here(requests, catalogue, limits, first, on_progress)


def _validate_here(
    requests: Sequence[ValidationRequest],
    catalogue: "Catalogue",
    limits: WorkbookLimits,
    first: "Future[WorkbookCells]",
    on_progress: OnProgress,
) -> Iterator[list["ValidationResult"]]:
    from xlbridge.validation import validate_file

    for index, request in enumerate(requests):
        progress = ValidationProgress(request.file, index, len(requests))
        on_progress(progress)

        def on_column(column: ColumnProgress, progress: ValidationProgress = progress) -> None:
            on_progress(replace(progress, column=column))

        source = first.result if index == 0 else None
        results = validate_file(request, catalogue, limits, source, on_column)
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
    from xlbridge.validation import RefusedFile, ValidatedSheet

    # Child sheets follow their main sheet, which also refers to them.
    [[result, *_]] = validate_files([request], schemas, limits)
    match result:
        case ValidatedSheet():
            return result
        case RefusedFile():
            raise result.refusal
        case _:
            raise AssertionError(result)
