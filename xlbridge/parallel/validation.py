"""Validation of files for every face of the product: in this process or with an executor.

Nothing that validates is imported before the first file is being read, or the workers begin: that
import takes most of a second. Source: the product brief, ``validate``.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.parallel.tasks import Executor
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import (
    ColumnProgress,
    ValidationRequest,
)
from xlbridge.workbook.read import prefetch_workbook

if TYPE_CHECKING:
    from xlbridge.resources import Catalogue
    from xlbridge.validation import ValidatedSheet, ValidationResult
    from xlbridge.workbook.read import WorkbookSource

_DEFAULT_LIMITS = WorkbookLimits()


@dataclass(frozen=True, slots=True)
class ValidationProgress:
    """Progress over several files: ``done`` of ``total`` are finished.

    ``file`` is the one that begins, whose ``column`` is next, or that is ``finished`` now.
    """

    file: Path
    done: int
    total: int
    finished: bool = False
    column: ColumnProgress | None = None


OnProgress = Callable[[ValidationProgress], None]
"""Told whenever a file begins, goes on or is finished; with an executor from any thread."""


def validate_files(
    requests: Sequence[ValidationRequest],
    schemas: Path,
    limits: WorkbookLimits = _DEFAULT_LIMITS,
    executor: Executor | None = None,
    *,
    with_frames: bool = True,
    on_progress: OnProgress = lambda _: None,
) -> Iterator[list["ValidationResult"]]:
    """Yield what is found in each file, in the order of the requests.

    ``schemas`` is the folder of the user's own schema files. A file that cannot be validated is a
    ``RefusedFile``, and the others go on. ``executor`` validates in place of this process, with the
    same results; without ``with_frames`` it sends the sheets back without their frames, which are
    most of what has to be carried.

    Raises ``SchemaFileError`` when an own schema file is wrong.
    """
    if executor is not None:
        from xlbridge.parallel.workbooks import validate_with_executor

        finished = count(1)

        def on_done(place: int) -> None:
            file, done = requests[place].file, next(finished)
            on_progress(ValidationProgress(file, done, len(requests), finished=True))

        yield from validate_with_executor(
            requests, schemas, limits, executor, with_frames=with_frames, on_done=on_done
        )
    elif requests:
        with prefetch_workbook(requests[0].file, limits, requests[0].sheet) as first:
            from xlbridge.resources import load_catalogue
            from xlbridge.validation import warm_up

            catalogue = load_catalogue(schemas)
            if first is not None and not first.is_here():
                warm_up(catalogue)
            yield from _validate_here(requests, catalogue, limits, first, on_progress)


def _validate_here(
    requests: Sequence[ValidationRequest],
    catalogue: "Catalogue",
    limits: WorkbookLimits,
    first: "WorkbookSource | None",
    on_progress: OnProgress,
) -> Iterator[list["ValidationResult"]]:
    from xlbridge.validation import validate_file

    for place, request in enumerate(requests):
        report = partial(ValidationProgress, request.file, total=len(requests))
        on_progress(report(done=place))

        def on_column(
            column: ColumnProgress,
            report: partial[ValidationProgress] = report,
            place: int = place,
        ) -> None:
            on_progress(report(done=place, column=column))

        source = first if place == 0 else None
        results = validate_file(request, catalogue, limits, source, on_column)
        on_progress(report(done=place + 1, finished=True))
        yield results


def validate_single_sheet(
    request: ValidationRequest,
    schemas: Path,
    limits: WorkbookLimits,
) -> "ValidatedSheet":
    """Validate the one sheet of a file that a request asks for, in this process.

    Raises ``WorkbookRefused`` when the file is no readable .xlsx, ``UsageError`` when the file,
    sheet or resource does not exist or the resource cannot be recognised; ``SchemaFileError``.
    """
    from xlbridge.validation import RefusedFile, ValidatedSheet

    # Child sheets come after their main sheet, which has them.
    [[result, *_]] = validate_files([request], schemas, limits)
    match result:
        case ValidatedSheet():
            return result
        case RefusedFile():
            raise result.refusal
        case _:
            raise AssertionError(result)
