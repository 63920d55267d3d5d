"""What ``xlbridge export`` tells: how far it is, and what came of it."""

import time
from pathlib import Path

from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.output import remark, result
from xlbridge.cli.progress import Activity
from xlbridge.export.attachments import Downloads
from xlbridge.export.fetched import Advance, Progress
from xlbridge.export.result import ExportResult, describe_hole, describe_missing
from xlbridge.i18n import Text

_TELL_EVERY = 0.2
"""Seconds."""


def counting(title: Text, activity: Activity) -> Progress:
    """Return what shows how far an export is, now and then."""
    begun = told_at = time.monotonic()
    known: object = None

    def count(advance: Advance) -> None:
        nonlocal begun, told_at, known
        now = time.monotonic()
        now_known = (advance.is_of_keys, advance.windows_left is None, advance.records_left is None)
        if now - told_at < _TELL_EVERY and now_known == known:
            return
        if now_known != known:
            begun = now
        told_at, known = now, now_known
        activity.tell(
            (_KEYS if advance.is_of_keys else _RECORDS).format(
                title=title,
                n=advance.records,
                rate=round(advance.records / max(now - begun, _TELL_EVERY)),
                left=_left(advance),
            )
        )

    return count


_RECORDS = Text(
    pt="{title}: {n} {n:registro|registros}, {rate}/s{left}",
    en="{title}: {n} {n:record|records}, {rate}/s{left}",
)
_KEYS = Text(
    pt="{title}: primeiro as chaves: {n}, {rate}/s{left}",
    en="{title}: the keys first: {n}, {rate}/s{left}",
)


def _left(advance: Advance) -> Text | str:
    if advance.records_left is not None:
        left = Text(pt=", {n:falta|faltam} {n} a consultar", en=", {n} to ask for left")
        return left.format(n=advance.records_left)
    if advance.windows_left is None:
        return ""
    return Text(
        pt=", {n:falta|faltam} {n} {n:período|períodos}", en=", {n} {n:window|windows} left"
    ).format(n=advance.windows_left)


def tell(exported: ExportResult, output: Path, downloads: Downloads | None) -> ExitCode:
    """Print what was written, and all that is lacking; return the exit code that says so."""
    rows = ", ".join(f"{name} {count}" for name, count in exported.sheets.items())
    told = Text(
        pt="{file}: {n} {n:registro|registros} ({rows})",
        en="{file}: {n} {n:record|records} ({rows})",
    )
    result(told.format(file=output, n=exported.records, rows=rows))
    if exported.reused:
        remark(
            Text(
                pt="{n} {n:período é|períodos são} da execução interrompida antes; --fresh pede "
                "tudo de novo.",
                en="{n} {n:window is|windows are} from the run that broke off; --fresh asks for "
                "everything.",
            ).format(n=exported.reused)
        )
    if not exported.records:
        remark(Text(pt="Nada foi encontrado.", en="Nothing was found."))
    if exported.missing:
        remark(describe_missing(exported.missing))
    for hole in exported.holes:
        remark(describe_hole(hole))
    if downloads is not None:
        remark(
            Text(pt="{n} {n:anexo baixado|anexos baixados}.", en="{n} {n:file|files}.").format(
                n=downloads.files
            )
        )
        for problem in downloads.problems:
            remark(problem)
    is_whole = exported.complete and not exported.missing
    is_whole = is_whole and not (downloads and downloads.problems)
    return ExitCode.GOOD if is_whole else ExitCode.DATA_ERRORS
