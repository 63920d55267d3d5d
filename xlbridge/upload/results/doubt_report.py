"""Report on a job in doubt: the question that a person decides, and all that is known about it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xlbridge import titles
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.report_forms import Grade, Heading, Line, Report, Table, Value
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.snapshot import Moment, RowSnapshot, StoredSnapshot
from xlbridge.upload.results.report import history_table
from xlbridge.upload.results.verdict import RowOutcome

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
    outcomes: Sequence[RowOutcome],
    sent: Sequence[Mapping[str, Any]],
    snapshots: Sequence[StoredSnapshot],
) -> Report:
    """Return the report with the rows or records in doubt, the job's history, and the snapshots.

    ``outcomes`` are those of its rows; ``sent`` has the values of each by column, or the number of
    each record.
    """
    rows = zip(job.spec.rows, outcomes, strict=True)
    in_doubt = {row for row, outcome in rows if outcome is RowOutcome.UNKNOWN}
    is_processing = job.spec.mode.channel.of_listing
    title, question, meanwhile = (
        (_PROCESSING_IN_DOUBT, _PROCESSED_OR_NOT, _NOT_PROCESSED_AGAIN)
        if is_processing
        else (_UPLOAD_IN_DOUBT, _WRITTEN_OR_NOT, _NOT_SENT_AGAIN)
    )
    return Report(
        title=title.format(job=job.id),
        verdict=question.format(rows=len(in_doubt)),
        grade=Grade.WARNING,
        remarks=[meanwhile.format(rows=len(in_doubt), reason=job.reason)],
        facts=list(_facts(job, len(in_doubt))),
        tables=[
            _record_table(job, sent, in_doubt)
            if is_processing
            else _row_table(job, sent, snapshots, in_doubt),
            history_table(job),
        ],
        next_steps=list(_steps(job)),
        complete=None,
    )


def _steps(job: Job) -> Iterator[Text]:
    """Yield the steps for a person; an answer is a command."""
    resolve = f"xlbridge resolve {job.arguments()} --as"
    applied, not_applied = (f'{resolve} {seen} --reason "…"' for seen in ("applied", "not-applied"))
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


def _facts(job: Job, in_doubt: int) -> Iterator[tuple[Text, Value]]:
    spec = job.spec
    counts = Text(pt="{n} de {all}", en="{n} of {all}").format(n=in_doubt, all=len(spec.rows))
    yield titles.UPLOAD, job.id
    yield RowOutcome.UNKNOWN.count_title, counts
    address = spec.profile if job.target is None else job.target["base_url"]
    yield titles.ENVIRONMENT, " ".join(dict.fromkeys((spec.profile, address)))
    yield titles.RESOURCE, spec.resource
    yield titles.MODE, spec.mode.channel.name
    yield titles.WORKBOOK, f"{spec.file} [{spec.sheet}]" if spec.file else None
    yield untranslated("Digest"), spec.digest
    yield untranslated("Log"), job.log_id and str(job.log_id)


_NUMBER = Text(pt="Número", en="Number")
_RECORDS = Text(pt="Os registros", en="The records")
_ROWS = Text(pt="As linhas", en="The rows")
_KEY = Text(pt="Chave", en="Key")
_SENT = Text(pt="Enviado", en="Sent")
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
            named = None if key is None else _named_values(key)
            lines.append(Line((str(row), named, _named_values(values), *map(_found_text, found))))
    read = (
        joined([_MOMENTS[snapshot.moment], untranslated(f"{snapshot.at:%d/%m %H:%M:%S}")], "\n")
        for snapshot in snapshots
    )
    return Table(
        sheet=_ROWS,
        about=None if snapshots else _NOTHING_READ,
        headings=(Heading(titles.ROW), Heading(_KEY), Heading(_SENT), *map(Heading, read)),
        lines=lines,
    )


def _named_values(values: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in values.items() if value is not None)


def _found_text(found: RowSnapshot | None) -> Text:
    if found is None:
        return _NO_KEY
    texts = [
        _SAME.format(code=record.code)
        if record.same
        else joined(
            [_DIFFERS.format(code=record.code), untranslated(_named_values(record.values))], "\n"
        )
        for record in found.found
    ]
    return joined(texts, "\n") if texts else _NOT_THERE
