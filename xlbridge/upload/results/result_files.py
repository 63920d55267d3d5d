"""Reports of jobs of any kind, and evidence: rejects workbook, page on an upload in doubt."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge import titles
from xlbridge.errors import LocalFailure, UsageError
from xlbridge.files import make_private_folder, path_beside
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.report_forms import Grade, Heading, Line, Report, ReportForms, Table, Value
from xlbridge.resources import Resource
from xlbridge.resources.checks import value_text
from xlbridge.titles import number_in_row, row_text
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, file_hash
from xlbridge.upload.journal import Journal
from xlbridge.upload.lookup.snapshot import Moment, RowSnapshot
from xlbridge.upload.requests import (
    RowOutcome,
    State,
    StoredSnapshot,
    item_column,
    parse_item_column,
)
from xlbridge.upload.results.control_totals import UploadRows, upload_summary
from xlbridge.upload.results.report import history_table, job_json, upload_report
from xlbridge.upload.results.row_ledger import messages_of
from xlbridge.upload.results.task_report import process_json, process_report, undo_json, undo_report
from xlbridge.workbook import cell_position

if TYPE_CHECKING:
    from xlbridge.client import Client
    from xlbridge.upload.lookup.snapshot import RowValues
    from xlbridge.upload.payload import ChildRows
    from xlbridge.workbook.read import SheetCells
    from xlbridge.workbook.write import RejectedRows

_DOUBT_NAME = Text(pt="-em-duvida-{job}.html", en="-in-doubt-{job}.html")
_REJECTS_NAME = Text(pt="-rejeitadas-{job}.xlsx", en="-rejected-{job}.xlsx")
_MAX_CODE_LENGTH = 10
"""Most digits of a code, which is a 32-bit integer."""
_ENDED = frozenset({State.DONE, State.PARTIAL, State.REJECTED, State.NEEDS_PERSON})


def ensure_evidence(context: UploadContext, job: Job, client: "Client | None" = None) -> Job:
    """Write the missing evidence of a job, or of its whole sheet if it is a part; return the job.

    A ``client`` reads names of records that were never read.
    For rejected or held rows that is the rejects workbook, for a doubt the page to decide it. Both
    are written next to the analyst's file, or into the home folder if that is not possible.
    """
    journal = context.journal
    whole = journal.job(job.whole)
    for one in (*journal.parts_of(whole), whole):
        in_doubt = one.state is State.NEEDS_PERSON
        if in_doubt and not one.parts and not _exists(one.notes.evidence_file):
            written = _write_evidence(context, one, _DOUBT_NAME, _write_doubt_page)
            one = journal.record(one, one.state, evidence_file=str(written))
        rejected = one.state in {State.PARTIAL, State.REJECTED} or (
            in_doubt and messages_of(journal, one)
        )
        held = one.state in _ENDED and one.held > 0
        is_sheet = one.parent is None and not one.is_task
        if is_sheet and (rejected or held) and not _exists(one.notes.rejects_file):
            write = partial(_write_rejects_workbook, client=client)
            written = _write_evidence(context, one, _REJECTS_NAME, write)
            journal.record(one, one.state, rejects_file=str(written))
    return journal.job(job.id)


def _exists(file: str | None) -> bool:
    return file is not None and Path(file).exists()


def _write_evidence(
    context: UploadContext,
    job: Job,
    name: Text,
    write: Callable[[UploadContext, Job, Path], None],
) -> Path:
    """Write a file next to the analyst's, or into the home folder, and return its path."""
    # A processing of explicit numbers has no file.
    file = Path(job.spec.file or context.settings.home / "evidence" / job.spec.resource)
    target = path_beside(file, name.format(job=job.id))
    try:
        write(context, job, target)
    except (UsageError, LocalFailure):
        target = context.settings.home / "evidence" / target.name
        make_private_folder(target.parent)
        write(context, job, target)
    return target


def _write_rejects_workbook(
    context: UploadContext, job: Job, target: Path, client: "Client | None"
) -> None:
    """Write the rejected rows of a job to ``target``, in the layout of the template.

    If the whole sheet was rejected, rows without an error of their own are included, since they
    were not applied either. Raises ``UsageError`` if the file cannot be written.
    """
    # Modules for workbooks are rarely needed here, and slow to import.
    from xlbridge.resources.links import listing_resource
    from xlbridge.upload.payload import ChildRows, child_rows
    from xlbridge.workbook.write import RejectedRows

    resource = context.catalogue.named(job.spec.resource)
    sent = UploadRows.of(context, job)
    frame, planned, numbers, reasons = sent.frame, sent.planned, sent.numbers, sent.reasons
    positions = [at for at, row in enumerate(numbers) if row in reasons]
    rejected = frame.iloc[positions].reset_index(drop=True)
    rows = [numbers[at] for at in positions]
    origins = context.journal.changes.origins(job.id)
    messages = [reasons[row] for row in rows]
    raw_cells: dict[int, Mapping[str, str | float]] = {
        index: planned[at].raw_cells
        for index, at in enumerate(positions)
        if planned and planned[at].raw_cells
    }
    record_numbers = [planned[at].number for at in positions] if planned else []
    if any(record_numbers):
        # A blank sheet of a list would empty the lists of these records.
        sent_lists = [child for child in resource.children if child.sheet in frame]
        resource = replace(resource, children=tuple(sent_lists))
    wrong_by_index = {i: sent.wrong[row] for i, row in enumerate(rows) if sent.wrong.get(row)}
    children: Iterable[ChildRows] = child_rows(resource, rejected)
    listed, words, names = _own_words(context, job, rows)
    for index, at in enumerate(positions):
        raw_cells[index] = {**names.get(numbers[at], {}), **raw_cells.get(index, {})}
    if listed or words:
        # Names of records, and words for values, are understood again.
        resource = listing_resource(resource, context.catalogue, listed, words)
        children = (
            replace(items, resource=child)
            for items in children
            for child in resource.children
            if child.sheet == items.resource.sheet
        )
    RejectedRows(resource, rejected, messages, raw_cells, wrong_by_index, record_numbers).write(
        target,
        [
            row_text(number) if number_in_row(number) else number
            for number in (origins.get(row, row) for row in rows)
        ],
        replace(job.origin_of_file(), words=words),
        upload_summary(context, job, sent, target, client),
        [_rejected_items(items, messages, raw_cells, wrong_by_index) for items in children],
    )


def _own_words(
    context: UploadContext, job: Job, rows: Sequence[int]
) -> tuple[Collection[str], Mapping[str, Mapping[str, Any]], Mapping[int, Mapping[str, str]]]:
    """Return the columns in which the sheet of a job names records of registries, those of child
    sheets as ``list.column``; those with words for values; and what their cells say by row and
    column.

    A column without codes that has a number in these rows is not one of them, as the number could
    be the code of another record; documents are too long for that.
    There are none if the file has changed since, or is gone.
    """
    from xlbridge.validation.cells import display
    from xlbridge.workbook.read import read_workbook

    file, names = Path(job.spec.file), defaultdict[int, dict[str, str]](dict)
    try:
        is_same = file_hash(file) == job.notes.file_hash
    except OSError:
        is_same = False
    if not is_same:
        return (), {}, names
    sheets: dict[str, SheetCells] = {}

    def name_at(sheet: str, address: str) -> str:
        if sheet not in sheets:
            (sheets[sheet],) = read_workbook(file, context.settings.limits, sheet).sheets
        cells, (row, column) = sheets[sheet], cell_position(address)
        return display(cells.columns[column - cells.first_column].value(row - 1)).strip()

    listed, items, named, words = list[str](), job.items, job.notes.named, {**job.notes.words}
    for path in {**named, **words}:
        child, _, name = path.rpartition(".")
        found = dict[tuple[int, str], str]()
        for row in rows:
            if not child:
                if address := job.spec.cell(row, name):
                    found[row, name] = name_at(job.spec.sheet, address)
                continue
            for number in range(len(items[child].rows.get(row, ())) if child in items else 0):
                if cell := items[child].cell(row, number, name):
                    sheet, _, address = cell.rpartition("!")
                    found[row, item_column(child, number, name)] = name_at(sheet, address)
        numbers = (text for text in found.values() if text.isdecimal())
        is_listed = path in named and (
            named[path] or not any(len(text) <= _MAX_CODE_LENGTH for text in numbers)
        )
        if is_listed:
            listed.append(path)
        elif path in named:
            words.pop(path, None)
        known = set(map(_comparable, words.get(path, ())))
        for (row, column), text in found.items():
            if text and (is_listed or _comparable(text) in known):
                names[row][column] = text
    return listed, words, names


def _comparable(word: str) -> str:
    return " ".join(word.split()).casefold()


def _rejected_items(
    items: "ChildRows",
    messages: Sequence[tuple[str, str]],
    raw_cells: Mapping[int, Mapping[str, str | float]],
    wrong: Mapping[int, Collection[str]],
) -> "RejectedRows":
    """Return the rows of a list with their messages, raw cells and wrong columns, from those of
    their records."""
    from xlbridge.workbook.write import RejectedRows

    rows = {item_key: row for row, item_key in enumerate(items.item_keys)}
    raw_item_cells: defaultdict[int, dict[str, str | float]] = defaultdict(dict)
    wrong_items: defaultdict[int, set[str]] = defaultdict(set)
    for position in wrong.keys() | raw_cells.keys():
        contents = raw_cells.get(position, {})
        for name in {*wrong.get(position, ()), *contents}:
            item = parse_item_column(name)
            if item is None or item[0] != items.resource.sheet or (position, item[1]) not in rows:
                continue
            row = rows[position, item[1]]
            if name in wrong.get(position, ()):
                wrong_items[row].add(item[2])
            if name in contents:
                raw_item_cells[row][item[2]] = contents[name]
    item_messages = [messages[position] for position, _ in items.item_keys]
    return RejectedRows(items.resource, items.frame, item_messages, raw_item_cells, wrong_items)


def _write_doubt_page(context: UploadContext, job: Job, target: Path) -> None:
    from xlbridge.upload.payload import sent_rows

    resource = None
    if job.spec.mode.channel.of_listing:
        sent: Sequence[RowValues] = [
            {"id": write.task.record} for write in context.journal.writes.load(job.id)
        ]
    else:
        resource, sent = context.catalogue.named(job.spec.resource), sent_rows(context, job)
    journal = context.journal
    outcomes = journal.changes.outcomes(job.id)
    report = doubt_report(job, resource, outcomes, sent, journal.snapshots.all_of(job.id))
    ReportForms.of_report(lambda: report).write("html", target)


def job_report(
    journal: Journal, job: Job, resource: Resource | None = None, *, with_reasons: bool = True
) -> Report:
    """Return the report of an upload, an undo or a processing.

    With its ``resource``, for a page, columns have their titles; ``with_reasons`` has the reasons
    of rejected rows, which control totals have, too.
    """
    if job.spec.mode.channel.of_listing:
        return process_report(journal, job)
    if job.spec.undo_of is not None:
        return undo_report(journal, job)
    return upload_report(journal, job, resource, with_reasons=with_reasons)


def job_document(journal: Journal, job: Job) -> dict[str, Any]:
    """Return the report of an upload, an undo or a processing as JSON."""
    if job.spec.mode.channel.of_listing:
        return process_json(journal, job)
    return job_json(journal, job) if job.spec.undo_of is None else undo_json(journal, job)


_UPLOAD_IN_DOUBT = Text(pt="Envio em dúvida: {job}", en="Upload in doubt: {job}")
_WRITTEN_OR_NOT = Text(
    pt="{rows:A linha deste envio está|As {rows} linhas deste envio estão} no sistema ou não?",
    en="{rows:Is the row|Are the {rows} rows} of this upload in the system or not?",
)
_NOT_SENT_AGAIN = Text(
    pt="O xlbridge não sabe: {reason}. Até alguém decidir, "
    "{rows:ela não é enviada|elas não são enviadas} de novo.",
    en="xlbridge cannot tell: {reason}. Until someone decides, {rows:it is|they are} not sent "
    "again.",
)
_SEARCH = Text(
    pt="Abra o sistema ({profile}) e procure as linhas da tabela abaixo, pela chave ou, sem "
    "chave, pelos valores. Comece pela primeira e pela última.",
    en="Open the system ({profile}) and look for the rows in the table below, by their key or, "
    "without one, by their values. Start with the first and the last.",
)
_SEE_IMPORTS = Text(
    pt="Confira também se há uma importação ainda na fila ou em andamento a partir de {since}.",
    en="Also check whether an import is still queued or running there since {since}.",
)
_ALL_THERE = Text(pt="Se todas estão lá: {command}", en="If all are there: {command}")
_NONE_THERE = Text(
    pt="Se nenhuma está lá: {command} e depois envie a planilha de novo.",
    en="If none is there: {command} and then upload the workbook again.",
)
_SOME_THERE = Text(
    pt="Se só uma parte está lá, complete ou desfaça manualmente no sistema e depois responda.",
    en="If only some are there, complete or undo it by hand in the system, and then answer.",
)
_ANSWER_ALL = Text(
    pt="em Envios, em {job}, “Estão todas no sistema”",
    en="under Uploads, at {job}, “All of them are in the system”",
)
_ANSWER_NONE = Text(
    pt="em Envios, em {job}, “Nenhuma está no sistema”",
    en="under Uploads, at {job}, “None of them is in the system”",
)
_PROCESSING_IN_DOUBT = Text(pt="Processamento em dúvida: {job}", en="Processing in doubt: {job}")
_PROCESSED_OR_NOT = Text(
    pt="{rows:O registro deste processamento foi processado|Os {rows} registros deste "
    "processamento foram processados} ou não?",
    en="{rows:Was the record|Were the {rows} records} of this job processed or not?",
)
_NOT_PROCESSED_AGAIN = Text(
    pt="O xlbridge não sabe: {reason}. Até alguém decidir, "
    "{rows:ele não é processado|eles não são processados} de novo.",
    en="xlbridge cannot tell: {reason}. Until someone decides, {rows:it is|they are} not processed "
    "again.",
)
_LOOK_AT_RECORDS = Text(
    pt="Abra o sistema ({profile}) e veja, em {listing}, os registros da tabela abaixo, pelo "
    "número.",
    en="Open the system ({profile}) and look, in {listing}, at the records in the table below, by "
    "their numbers.",
)
_ALL_PROCESSED = Text(pt="Se todos foram processados: {command}", en="If all were: {command}")
_NONE_PROCESSED = Text(
    pt="Se nenhum foi: {command} e depois processe-os de novo.",
    en="If none was: {command} and then process them again.",
)
_SOME_PROCESSED = Text(
    pt="Se só uma parte foi, processe o resto manualmente no sistema e depois responda.",
    en="If only some were, process the others by hand in the system, and then answer.",
)


def doubt_report(
    job: Job,
    resource: Resource | None,
    outcomes: Sequence[RowOutcome],
    sent: Sequence[Mapping[str, Any]],
    snapshots: Sequence[StoredSnapshot],
) -> Report:
    """Return the report with the rows or records in doubt, the job's history, and the snapshots.

    ``outcomes`` are those of its rows; ``sent`` has the values of each by column, or the number of
    each record of a processing, which has no ``resource``.
    """
    rows = zip(job.spec.rows, outcomes, strict=True)
    in_doubt = {row for row, outcome in rows if outcome is RowOutcome.UNKNOWN}
    title, question, meanwhile = (
        (_PROCESSING_IN_DOUBT, _PROCESSED_OR_NOT, _NOT_PROCESSED_AGAIN)
        if resource is None
        else (_UPLOAD_IN_DOUBT, _WRITTEN_OR_NOT, _NOT_SENT_AGAIN)
    )
    return Report(
        title=title.format(job=job.id),
        verdict=question.format(rows=len(in_doubt)),
        grade=Grade.WARNING,
        remarks=[meanwhile.format(rows=len(in_doubt), reason=job.reason)],
        facts=list(_facts(job, resource, len(in_doubt))),
        tables=[
            _record_table(job, sent, in_doubt)
            if resource is None
            else _row_table(job, resource, sent, snapshots, in_doubt),
            history_table(job),
        ],
        next_steps=list(_steps(job)),
        complete=None,
    )


def _steps(job: Job) -> Iterator[Text]:
    """Yield the steps for a person; an answer is a command, or a button of the page."""
    resolve = f"xlbridge resolve {job.arguments()} --as"
    applied, not_applied = (
        replace(untranslated(f'{resolve} {seen} --reason "…"'), page=button.format(job=job.id))
        for seen, button in (("applied", _ANSWER_ALL), ("not-applied", _ANSWER_NONE))
    )
    if job.spec.mode.channel.of_listing:
        yield _LOOK_AT_RECORDS.format(profile=job.spec.profile, listing=job.spec.resource)
        yield _ALL_PROCESSED.format(command=applied)
        yield _NONE_PROCESSED.format(command=not_applied)
        yield _SOME_PROCESSED
        return
    yield _SEARCH.format(profile=job.spec.profile)
    yield _SEE_IMPORTS.format(since=f"{job.created_at:%d/%m/%Y %H:%M}")
    yield _ALL_THERE.format(command=applied)
    yield _NONE_THERE.format(command=not_applied)
    yield _SOME_THERE


def _facts(job: Job, resource: Resource | None, in_doubt: int) -> Iterator[tuple[Text, Value]]:
    spec = job.spec
    counts = Text(pt="{n} de {all}", en="{n} of {all}").format(n=in_doubt, all=len(spec.rows))
    yield titles.UPLOAD, job.id
    yield RowOutcome.UNKNOWN.count_title, counts
    address = spec.profile if job.notes.target is None else job.notes.target["base_url"]
    yield titles.ENVIRONMENT, " ".join(dict.fromkeys((spec.profile, address)))
    yield titles.RESOURCE, spec.resource if resource is None else resource.title
    yield titles.MODE, spec.mode.channel.name
    yield titles.WORKBOOK, f"{spec.file} [{spec.sheet}]" if spec.file else None
    yield untranslated("Digest"), spec.digest
    yield untranslated("Log"), job.known.log_id and str(job.known.log_id)


_NUMBER = Text(pt="Número", en="Number")
_RECORDS = Text(pt="Os registros", en="The records")
_ROWS = Text(pt="As linhas", en="The rows")
_KEY = Text(pt="Chave", en="Key")
_NOTHING_READ = Text(
    pt="Nada foi lido do sistema.",
    en="Nothing was read from the system.",
)
_MOMENTS: Mapping[Moment, Text] = {
    Moment.BEFORE: titles.BEFORE,
    Moment.WRITTEN: Text(pt="Depois do envio", en="After sending"),
    Moment.AFTER: titles.AFTER,
    Moment.CODES: Text(pt="Códigos", en="Codes"),
    Moment.IDENTICAL: Text(pt="Iguais, antes", en="Equal ones, before"),
}
_NO_KEY = Text(pt="sem chave", en="no key")
_NOT_THERE = Text(pt="não está lá", en="not there")
_SAME = Text(pt="{code}: igual", en="{code}: the same")
_DIFFERS = Text(pt="{code}: diferente", en="{code}: differs")


def _record_table(job: Job, sent: Sequence[Mapping[str, Any]], in_doubt: set[int]) -> Table:
    """Return the records by number, with their rows if they come from a sheet."""
    in_sheet = bool(job.spec.file)
    return Table(
        sheet=_RECORDS,
        headings=(Heading(_NUMBER), *([Heading(titles.ROW)] if in_sheet else [])),
        lines=[
            Line((str(record["id"]), *([str(row)] if in_sheet else [])))
            for row, record in zip(job.spec.rows, sent, strict=True)
            if row in in_doubt
        ],
    )


def _row_table(
    job: Job,
    resource: Resource,
    sent: Sequence[Mapping[str, Any]],
    snapshots: Sequence[StoredSnapshot],
    in_doubt: set[int],
) -> Table:
    """Return the rows with their keys, the values sent, and what each snapshot found of them."""
    lines = []
    found_rows = [snapshot.rows for snapshot in snapshots]
    for row, values, *found in zip(job.spec.rows, sent, *found_rows, strict=True):
        if row in in_doubt:
            key = next((one.key for one in found if one is not None), None)
            named = None if key is None else _named_values(resource, key)
            texts = (_found_text(resource, one) for one in found)
            lines.append(Line((str(row), named, _named_values(resource, values), *texts)))
    read = (
        joined([_MOMENTS[snapshot.moment], untranslated(f"{snapshot.at:%d/%m %H:%M:%S}")], "\n")
        for snapshot in snapshots
    )
    return Table(
        sheet=_ROWS,
        about=None if snapshots else _NOTHING_READ,
        headings=(Heading(titles.ROW), Heading(_KEY), Heading(titles.SENT), *map(Heading, read)),
        lines=lines,
    )


def _named_values(resource: Resource, values: Mapping[str, Any]) -> str:
    """Return the values of a record with the titles of their columns, those of an item of a list in
    one line."""
    lines = []
    for name, value in values.items():
        if isinstance(value, list):
            for number, item in enumerate(value, start=1):
                of_item = _titled_values(resource, item, f"{name}.")
                lines.append(f"{name} {number}: {', '.join(of_item)}")
        else:
            lines += _titled_values(resource, {name: value})
    return "\n".join(lines)


def _titled_values(
    resource: Resource, values: Mapping[str, Any], within: str = ""
) -> Iterator[str]:
    for name, value in values.items():
        if value is not None:
            column = resource.by_path.get(within + name)
            shown = float(value) if isinstance(value, Decimal) else value
            yield f"{name if column is None else column.title}: {value_text(shown)}"


def _found_text(resource: Resource, found: RowSnapshot | None) -> Text:
    if found is None:
        return _NO_KEY
    texts = [
        _SAME.format(code=record.code)
        if record.same
        else joined(
            [
                _DIFFERS.format(code=record.code),
                untranslated(_named_values(resource, record.values)),
            ],
            "\n",
        )
        for record in found.found
    ]
    return joined(texts, "\n") if texts else _NOT_THERE
