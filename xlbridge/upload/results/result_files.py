"""Evidence of an upload: the rejects workbook, and the page on an upload in doubt.

The page helps a person decide: one self-contained HTML file in both languages.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xlbridge.errors import LocalFailure, UsageError
from xlbridge.files import make_private_folder, replace_atomically
from xlbridge.i18n import Text
from xlbridge.report_forms import render_page
from xlbridge.resources import Mode, Resource
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import REJECTS_INFIX, Job, State
from xlbridge.upload.lookup.snapshot import RowSnapshot
from xlbridge.upload.lookup.snapshot_journal import Moment, StoredSnapshot
from xlbridge.upload.planning.planned_row import PlannedRow
from xlbridge.upload.planning.row_reasons import RowAction, RowReason
from xlbridge.upload.results.report import mode_name
from xlbridge.upload.results.verdict import REJECTED_AS_A_WHOLE, RowOutcome, parse_item_column

if TYPE_CHECKING:
    from xlbridge.upload.lookup.row_table import RowValues
    from xlbridge.upload.payload import ChildRows
    from xlbridge.workbook.write import RejectedRows


_ENDED = frozenset({State.DONE, State.PARTIAL, State.REJECTED, State.NEEDS_PERSON})


def ensure_evidence(context: UploadContext, job: Job) -> Job:
    """Write the missing evidence of a job, and return the updated job.

    For rejected or held rows that is the rejects workbook, for a doubt the page to decide it. Both
    are written next to the analyst's file, or into the home folder if that is not possible.
    """
    journal = context.journal
    for part in journal.parts_of(job):
        ensure_evidence(context, part)
    in_doubt = job.state is State.NEEDS_PERSON and not job.parts
    if in_doubt and not _file_exists(job, "evidence_file"):
        written = _write_evidence(context, job, "em-duvida", ".html", _write_doubt_page)
        job = journal.record(job, job.state, evidence_file=str(written))
    if _lacks_rejects(job):
        written = _write_evidence(context, job, REJECTS_INFIX, ".xlsx", _write_rejects_workbook)
        job = journal.record(job, job.state, rejects_file=str(written))
    return job


def ensure_sheet_evidence(context: UploadContext, job: Job) -> Job:
    """Write the evidence of a job, or of the whole sheet if it is a part; return the job."""
    ensure_evidence(context, context.journal.job(job.parent or job.id))
    return context.journal.job(job.id)


def _lacks_rejects(job: Job) -> bool:
    """Return whether rows were rejected or held, and the rejects workbook is missing."""
    if job.parent is not None or job.spec.mode in {Mode.UNDO, Mode.PROCESS}:
        return False
    rejected = job.state in {State.PARTIAL, State.REJECTED} or (
        job.state is State.NEEDS_PERSON and bool(job.verdict.rejected_rows)
    )
    held = job.state in _ENDED and job.held > 0
    return (rejected or held) and not _file_exists(job, "rejects_file")


def _file_exists(job: Job, key: str) -> bool:
    written = job.last(key)
    return written is not None and Path(written).exists()


def _write_evidence(
    context: UploadContext,
    job: Job,
    infix: str,
    suffix: str,
    write: Callable[[UploadContext, Job, Path], None],
) -> Path:
    """Write a file next to the analyst's, or into the home folder, and return its path."""
    # A processing of explicit numbers has no file.
    file = Path(job.spec.file or context.settings.home / "evidence" / job.spec.resource)
    target = file.with_name(f"{file.stem}-{infix}-{job.id}{suffix}")
    try:
        write(context, job, target)
    except (UsageError, LocalFailure):
        target = context.settings.home / "evidence" / target.name
        make_private_folder(target.parent)
        write(context, job, target)
    return target


def _write_rejects_workbook(context: UploadContext, job: Job, target: Path) -> None:
    """Write the rejected rows of a job to ``target``, in the layout of the template.

    If the whole sheet was rejected, rows without an error of their own are included, since they
    were not applied either. Raises ``UsageError`` if the file cannot be written.
    """
    # Modules for workbooks are rarely needed here, and slow to import.
    from xlbridge.upload.payload import child_rows, frame_of_payload
    from xlbridge.workbook.write import RejectedRows, write_rejects

    resource = context.catalogue.named(job.spec.resource)
    frame = frame_of_payload(context, resource, job.spec.planned or job.spec.payload)
    planned = context.journal.plan_of(job)
    numbers = [row.row for row in planned] or list(job.spec.rows)
    reasons = _reasons(resource, job, planned)
    positions = [at for at, row in enumerate(numbers) if row in reasons]
    rejected = frame.iloc[positions].reset_index(drop=True)
    rows = [numbers[at] for at in positions]
    origins = job.origins
    messages = [reasons[row] for row in rows]
    raw_cells = {
        index: planned[at].raw_cells
        for index, at in enumerate(positions)
        if planned and planned[at].raw_cells
    }
    record_numbers = [planned[at].number for at in positions] if planned else []
    wrong = _wrong_columns(resource, job, planned, rows)
    children = child_rows(resource, rejected)
    write_rejects(
        target,
        RejectedRows(resource, rejected, messages, raw_cells, wrong, record_numbers),
        [origins.get(row, row) for row in rows],
        job.origin_of_file(),
        [_rejected_items(items, messages, raw_cells, wrong) for items in children],
    )


def _rejected_items(
    items: "ChildRows",
    messages: Sequence[str],
    raw_cells: Mapping[int, Mapping[str, str | float]],
    wrong: Mapping[int, Collection[str]],
) -> "RejectedRows":
    """Return the rows of a list with their messages, raw cells and wrong columns, from those of
    their records."""
    from xlbridge.workbook.write import RejectedRows

    rows = {item_key: row for row, item_key in enumerate(items.item_keys)}
    raw_item_cells: defaultdict[int, dict[str, str | float]] = defaultdict(dict)
    wrong_items: defaultdict[int, set[str]] = defaultdict(set)
    for position, names in wrong.items():
        for name in names:
            item = parse_item_column(name)
            if item is None or item[0] != items.resource.sheet or (position, item[1]) not in rows:
                continue
            row = rows[position, item[1]]
            wrong_items[row].add(item[2])
            if name in raw_cells.get(position, ()):
                raw_item_cells[row][item[2]] = raw_cells[position][name]
    item_messages = [messages[position] for position, _ in items.item_keys]
    return RejectedRows(items.resource, items.frame, item_messages, raw_item_cells, wrong_items)


def _wrong_columns(
    resource: Resource, job: Job, planned: Sequence[PlannedRow], rows: Sequence[int]
) -> dict[int, set[str]]:
    """Return the columns that were rejected, could not be parsed, or differ from the system, by
    indexes into ``rows``."""
    wrong: defaultdict[int, set[str]] = defaultdict(set)
    for rejected in job.verdict.rejected_rows:
        column = rejected.column
        if rejected.row is None or column is None:
            continue
        if column in resource.by_name or parse_item_column(column):
            wrong[rejected.row].add(column)
    for row in planned:
        wrong[row.row].update(row.raw_cells, resource.by_name.keys() & row.differences)
    return {index: wrong[row] for index, row in enumerate(rows) if wrong[row]}


def _reasons(resource: Resource, job: Job, planned: Sequence[PlannedRow]) -> dict[int, str]:
    """Return the reason of each row that was rejected or held, except rows that are not records."""
    reasons = job.verdict.reasons
    if job.state is State.REJECTED:
        reasons = {row: reasons.get(row, REJECTED_AS_A_WHOLE) for row in job.spec.rows}
    held = {
        row.row: row.full_text(resource.by_path)
        for row in planned
        if row.action is RowAction.HELD and row.reason is not RowReason.NO_RECORD
    }
    return {**held, **{row: str(reason) for row, reason in reasons.items()}}


def _write_doubt_page(context: UploadContext, job: Job, target: Path) -> None:
    from xlbridge.upload.payload import sent_rows

    if job.spec.mode is Mode.PROCESS:
        sent: Sequence[RowValues] = [
            {"id": write.task.record} for write in context.journal.writes.load(job.id)
        ]
    else:
        sent = sent_rows(context, job)
    page = doubt_page(job, sent, context.journal.snapshots.all_of(job.id))
    with replace_atomically(target) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


_WHAT_TO_DO = Text(pt="O que fazer", en="What to do")
_QUESTION = Text(
    pt="{rows:A linha deste envio está|As {rows} linhas deste envio estão} no sistema ou não? O "
    "xlbridge não conseguiu provar: "
    "{reason}. Até alguém decidir, {rows:ela não é enviada|elas não são enviadas} de novo.",
    en="{rows:Is the row|Are the {rows} rows} of this upload in the system or not? xlbridge could "
    "not prove it: "
    "{reason}. Until someone decides, {rows:it is|they are} not sent again.",
)
_SEARCH = Text(
    pt="Abra o sistema ({profile}) e procure as linhas da tabela abaixo, pela chave ou, sem "
    "chave, pelos valores. Comece pela primeira e pela última.",
    en="Open the system ({profile}) and look for the rows in the table below, by their key or, "
    "without one, by their values. Start with the first and the last.",
)
_PROCESSED_OR_NOT = Text(
    pt="{rows:O registro deste processamento foi processado|Os {rows} registros deste "
    "processamento foram processados} ou não? O xlbridge não conseguiu provar: {reason}. Até "
    "alguém decidir, {rows:ele não é processado|eles não são processados} de novo.",
    en="{rows:Was the record|Were the {rows} records} of this job processed or not? xlbridge could "
    "not prove it: {reason}. Until someone decides, {rows:it is|they are} not processed again.",
)
_LOOK_AT_RECORDS = Text(
    pt="Abra o sistema ({profile}) e veja, em {listing}, os registros da tabela abaixo, pelo "
    "número.",
    en="Open the system ({profile}) and look, in {listing}, at the records in the table below, by "
    "their numbers.",
)
_ALL_PROCESSED = Text(
    pt="Se todos foram processados, responda:", en="If all were processed, answer:"
)
_NONE_PROCESSED = Text(
    pt="Se nenhum foi, responda como abaixo e depois processe-os de novo:",
    en="If none was, answer as below, and then process them again:",
)
_SOME_PROCESSED = Text(
    pt="Se só uma parte foi, processe o resto manualmente no sistema e depois responda.",
    en="If only some were, process the others by hand in the system, and then answer.",
)
_SEE_IMPORTS = Text(
    pt="Confira também se há uma importação ainda na fila ou em andamento a partir de {since}.",
    en="Also check whether an import is still queued or running there since {since}.",
)
_ALL_THERE = Text(pt="Se todas estão lá, responda:", en="If all are there, answer:")
_NONE_THERE = Text(
    pt="Se nenhuma está lá, responda como abaixo e depois envie a planilha de novo:",
    en="If none is there, answer as below, and then upload the workbook again:",
)
_SOME_THERE = Text(
    pt="Se só uma parte está lá, complete ou desfaça manualmente no sistema e depois responda.",
    en="If only some are there, complete or undo it by hand in the system, and then answer.",
)
_MOMENTS = {
    Moment.BEFORE: "Antes · Before",
    Moment.WRITTEN: "Depois do envio · After sending",
    Moment.AFTER: "Depois · After",
    Moment.CODES: "Códigos · Codes",
    Moment.IDENTICAL: "Iguais, antes · Equal ones, before",
}
_BILINGUAL_DETAILS = ("reason", "unread")
_UNLISTED_DETAILS = ("verdict", "origins", "file_hash", "proven")


class _PageRow(NamedTuple):
    """Row of the page: Excel number, key if any, values sent, and its entry in each snapshot."""

    number: int
    key: Mapping[str, str] | None
    sent: Mapping[str, Any]
    found: Sequence[RowSnapshot | None]


def doubt_page(
    job: Job, sent: Sequence[Mapping[str, Any]], snapshots: Sequence[StoredSnapshot]
) -> str:
    """Return the HTML page with the rows in doubt, the job's history, and the snapshots.

    ``sent`` has the values of each row by column.
    """
    return render_page(
        "xlbridge.upload.results",
        title=f"xlbridge · {job.id}",
        is_processing=job.spec.mode is Mode.PROCESS,
        in_sheet=bool(job.spec.file),
        what_to_do=_WHAT_TO_DO,
        question=(_PROCESSED_OR_NOT if job.spec.mode is Mode.PROCESS else _QUESTION).format(
            rows=len(_open_rows(job)), reason=job.reason
        ),
        steps=list(_steps(job)),
        facts=_facts(job),
        events=job.events,
        states={state: _in_both(state.text) for state in State},
        bilingual=_BILINGUAL_DETAILS,
        unlisted=_UNLISTED_DETAILS,
        snapshots=snapshots,
        moments=_MOMENTS,
        rows=list(_rows(job, sent, snapshots)),
    )


def _open_rows(job: Job) -> set[int]:
    """Return the numbers of the rows whose outcome is unproven."""
    outcomes = zip(job.spec.rows, job.outcomes, strict=True)
    return {row for row, outcome in outcomes if outcome is RowOutcome.UNKNOWN}


def _steps(job: Job) -> Iterator[tuple[Text, str | None]]:
    """Yield the steps for a person, each with its command if there is one."""
    applied = f'xlbridge resolve {job.arguments()} --as applied --reason "…"'
    not_applied = f'xlbridge resolve {job.arguments()} --as not-applied --reason "…"'
    if job.spec.mode is Mode.PROCESS:
        place = {"profile": job.spec.profile, "listing": job.spec.resource}
        yield _LOOK_AT_RECORDS.format(**place), None
        yield _ALL_PROCESSED, applied
        yield _NONE_PROCESSED, not_applied
        yield _SOME_PROCESSED, None
        return
    yield _SEARCH.format(profile=job.spec.profile), None
    yield _SEE_IMPORTS.format(since=f"{job.created_at:%d/%m/%Y %H:%M}"), None
    yield _ALL_THERE, applied
    yield _NONE_THERE, not_applied
    yield _SOME_THERE, None


def _in_both(text: Text) -> str:
    return f"{text.pt} · {text.en}"


def _facts(job: Job) -> Mapping[str, str]:
    spec = job.spec
    address = job.last("address") or spec.profile
    return {
        "Envio · Upload": job.id,
        "Ambiente · Environment": " ".join(dict.fromkeys((spec.profile, address))),
        "Recurso · Resource": spec.resource,
        "Modo · Mode": _in_both(mode_name(spec.mode)),
        "Arquivo · File": f"{spec.file} [{spec.sheet}]" if spec.file else "–",
        "Linhas · Rows": f"{len(_open_rows(job))} / {len(spec.rows)}",
        "Digest": spec.digest,
        "Log": str(job.last("log_id") or "–"),
    }


def _rows(
    job: Job, sent: Sequence[Mapping[str, Any]], snapshots: Sequence[StoredSnapshot]
) -> Iterator[_PageRow]:
    columns = [snapshot.rows for snapshot in snapshots]
    in_doubt = _open_rows(job)
    for number, values, *found in zip(job.spec.rows, sent, *columns, strict=True):
        if number not in in_doubt:
            continue
        key = next((row.key for row in found if row is not None), None)
        yield _PageRow(number, key, values, found)
