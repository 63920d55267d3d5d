"""Which rows of a mended rejects workbook are sent again."""

from dataclasses import replace

import pandas as pd

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload.journal import Job
from xlbridge.upload.payload import payload_path
from xlbridge.upload.report import verdict_of
from xlbridge.upload.send import Desk
from xlbridge.upload.states import State
from xlbridge.validation.validate import ValidatedSheet, validate_workbook


def require_rejected(job: Job) -> None:
    """Raise ``UsageError`` unless rows of the job were rejected."""
    if job.state not in {State.PARTIAL, State.REJECTED}:
        raise UsageError(
            Text(
                pt="O envio {job} não tem linhas rejeitadas (estado {state}).",
                en="The upload {job} has no rejected rows (state {state}).",
            ).format(job=job.id, state=job.state.public)
        )


def mended_rows(desk: Desk, job: Job, sheet: ValidatedSheet) -> ValidatedSheet:
    """Return the sheet without the rows that were rejected before and are still the same.

    Raises ``UsageError`` when nothing has been mended.
    """
    refused = {row.row for row in verdict_of(job).rejected_rows}
    sent = validate_workbook(
        payload_path(desk.settings.payloads, job.what.payload),
        desk.catalogue,
        resource=job.what.resource,
    )
    before = {
        values
        for row, values in zip(job.what.rows, _values(sent.frame), strict=True)
        if row in refused
    }
    changed = [values not in before for values in _values(sheet.frame)]
    if not any(changed):
        raise UsageError(
            Text(
                pt="Nenhuma linha rejeitada foi corrigida em {file}.",
                en="No rejected row has been mended in {file}.",
            ).format(file=sheet.file)
        )
    return replace(
        sheet,
        frame=sheet.frame[changed].reset_index(drop=True),
        rows=[row for row, keep in zip(sheet.rows, changed, strict=True) if keep],
    )


def _values(frame: pd.DataFrame) -> list[tuple[str | None, ...]]:
    text = [[None if pd.isna(cell) else str(cell) for cell in frame[name]] for name in frame]
    return list(zip(*text, strict=True))
