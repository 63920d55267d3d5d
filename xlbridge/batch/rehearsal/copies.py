"""The private copy of a month: plan and workbooks, byte for byte, as they lie to one another."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from xlbridge.batch.plan import ExportStep, Plan, WorkbookStep
from xlbridge.batch.workbooks import digest_of, workbooks_of
from xlbridge.errors import UsageError
from xlbridge.i18n import Text, reason_of


def copy_month(plan: Plan, folder: Path) -> tuple[Path, int]:
    """Copy a plan and all its workbooks into an empty folder; the originals are only read.

    What a batch leaves beside its workbooks, and what it exports, so goes into the folder. Return
    where the plan's copy is, and how many workbooks were copied.

    Raises ``UsageError`` for a plan with paths that are not relative to it, and for a workbook
    that cannot be read.
    """
    _require_relative(plan)
    workbooks = dict.fromkeys(
        _plain(workbook.path)
        for step in plan.steps
        if isinstance(step, WorkbookStep)
        for workbook in workbooks_of(plan, step)
    )
    written = [_plain(plan.folder / path).parent for _, path in _outputs(plan)]
    folders = [plan.folder, *(path.parent for path in workbooks), *written]
    top = Path(os.path.commonpath(folders))
    for path in (plan.path, *workbooks):
        _copy(path, folder / path.relative_to(top))
    return folder / plan.path.relative_to(top), len(workbooks)


def _copy(path: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    except OSError as error:
        raise UsageError(
            Text(
                pt="{path} não pôde ser copiado para o ensaio: {reason}.",
                en="{path} cannot be copied for the rehearsal: {reason}.",
            ).format(path=path, reason=reason_of(error))
        ) from error
    if digest_of(path) != digest_of(target):
        raise UsageError(
            Text(
                pt="{path} mudou enquanto era copiado; ensaie de novo.",
                en="{path} changed while it was copied; rehearse again.",
            ).format(path=path)
        )


def _outputs(plan: Plan) -> Iterator[tuple[str, str]]:
    yield "proof", plan.proof
    for step in plan.steps:
        if isinstance(step, ExportStep):
            yield step.name, step.output
            if step.manifest is not None:
                yield step.name, step.manifest


def _require_relative(plan: Plan) -> None:
    patterns = (
        (step.name, pattern)
        for step in plan.steps
        if isinstance(step, WorkbookStep)
        for pattern in step.patterns
    )
    for place, path in (*patterns, *_outputs(plan)):
        if Path(path).anchor:
            raise UsageError(
                Text(
                    pt="{place}: {path} não é relativo ao plano; um ensaio não o tocaria à parte.",
                    en="{place}: {path} is not relative to the plan; a rehearsal could not keep "
                    "apart from it.",
                ).format(place=place, path=path),
                Text(
                    pt="Escreva o caminho a partir da pasta do plano, como ../mes/*.xlsx.",
                    en="Write the path from the plan's folder on, such as ../month/*.xlsx.",
                ),
            )


def _plain(path: Path) -> Path:
    """Return a path without ``..``; links stay as they are named."""
    return Path(os.path.normpath(path))
