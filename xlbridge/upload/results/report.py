"""Report of an upload: its content, and the JSON of the contract."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from xlbridge import titles
from xlbridge.files import as_arguments, path_beside, short_path
from xlbridge.i18n import Text, count_text, joined, untranslated, without_values
from xlbridge.report_forms import (
    Grade,
    Heading,
    Line,
    Report,
    Table,
    Tone,
    Value,
    group_by_reason,
    list_first,
)
from xlbridge.resources import Resource
from xlbridge.titles import row_text, sheet_row
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.requests import (
    LostField,
    RejectedRow,
    RowOutcome,
    State,
    has_open_name,
    parse_item_column,
)
from xlbridge.upload.results.row_ledger import (
    LaterRows,
    RowLedger,
    changed_ledger,
    counts_in,
    rejected_now,
)

_SHOWN_ROWS = 10

_HEADLINES = {
    State.PREVIEWED: Text(
        pt="Prévia. Linhas lidas pelo sistema: {previewed}. Nada foi gravado.",
        en="Preview. Rows read by the system: {previewed}. Nothing was written.",
    ),
    State.DONE: Text(
        pt="Pronto. Linhas aceitas: {accepted} de {read}{rest}.",
        en="Done. Rows accepted: {accepted} of {read}{rest}.",
    ),
    State.PARTIAL: Text(
        pt="Linhas aceitas: {accepted}; rejeitadas: {rejected}{rest}.",
        en="Rows accepted: {accepted}; rejected: {rejected}{rest}.",
    ),
    State.REJECTED: Text(
        pt="Rejeitado: {sent:a linha enviada não|nenhuma das {sent} linhas enviadas} foi "
        "gravada{rest}.",
        en="Rejected: {sent:the row that was sent was not|none of the {sent} rows that were sent "
        "was} written{rest}.",
    ),
    State.IN_DOUBT: Text(
        pt="Em dúvida: não se sabe se {sent:a linha foi gravada|as {sent} linhas foram gravadas} "
        "({reason}).",
        en="In doubt: whether {sent:the row was|the {sent} rows were} written is not known "
        "({reason}).",
    ),
    State.NEEDS_PERSON: Text(
        pt="Em dúvida; só uma pessoa pode decidir. Linhas: {sent}, aceitas: {accepted}, em "
        "dúvida: {unknown} ({reason}).",
        en="In doubt; only a person can decide. Rows: {sent}, accepted: {accepted}, in doubt: "
        "{unknown} ({reason}).",
    ),
    State.SENDING_PARTS: Text(
        pt="Em partes: {accepted} de {read} {read:linha aceita|linhas aceitas} até agora, "
        "{rejected} {rejected:rejeitada|rejeitadas}.",
        en="In parts: {accepted} of {read} {read:row|rows} accepted so far, {rejected} rejected.",
    ),
    State.COMPARING: Text(
        pt="Linhas aceitas: {accepted} de {read}{rest}; falta conferir os campos no sistema.",
        en="Rows accepted: {accepted} of {read}{rest}; their fields are still to be compared.",
    ),
    State.ABANDONED: Text(pt="Nada foi enviado ({reason}).", en="Nothing was sent ({reason})."),
}
_PARTLY_IN_DOUBT = Text(
    pt="Em dúvida: não se sabe se {unknown:uma linha foi gravada|{unknown} linhas foram gravadas}. "
    "Linhas: {sent}, aceitas: {accepted}, rejeitadas: {rejected} ({reason}).",
    en="In doubt: whether {unknown:one row was|{unknown} rows were} written is not known. Rows: "
    "{sent}, accepted: {accepted}, rejected: {rejected} ({reason}).",
)
_WITH_LOST_FIELDS = Text(
    pt="Linhas aceitas: {accepted} de {read}, mas há campos que o sistema não gravou{rest}.",
    en="Rows accepted: {accepted} of {read}, but the system did not store some fields{rest}.",
)
_WITH_UNSEEN_FIELDS = Text(
    pt="Linhas aceitas: {accepted} de {read}, mas não se sabe se todos os campos foram "
    "gravados{rest}.",
    en="Rows accepted: {accepted} of {read}, but whether all fields were stored is unknown{rest}.",
)
_DELETED = {
    State.DONE: Text(
        pt="Pronto. Registros excluídos: {accepted} de {read}{rest}.",
        en="Done. Records deleted: {accepted} of {read}{rest}.",
    ),
    State.PARTIAL: Text(
        pt="Registros excluídos: {accepted}; não excluídos: {rejected}{rest}.",
        en="Records deleted: {accepted}; not deleted: {rejected}{rest}.",
    ),
}
_QUEUED = Text(pt="Na fila (log {log_id}).", en="Queued (log {log_id}).")
_NOT_SENT = Text(pt="Ainda não enviado.", en="Not sent yet.")

_RESUME = Text(
    pt="A seguir: xlbridge resume {job}",
    en="Next: xlbridge resume {job}",
    page=Text(pt="A seguir: continue {job} em Envios", en="Next: continue {job} under Uploads"),
)
_NEXT_STEPS = {
    State.PREVIEWED: Text(
        pt="A seguir: o mesmo comando sem --mode preview envia as linhas.",
        en="Next: the same command without --mode preview sends the rows.",
    ),
    State.DONE: Text(pt="A seguir: nada mais a fazer.", en="Next: nothing is left to do."),
    State.PARTIAL: Text(
        pt="A seguir: corrija o arquivo e envie de novo: xlbridge retry {job} --file {file}",
        en="Next: correct the workbook and send again: xlbridge retry {job} --file {file}",
    ),
    State.IN_DOUBT: Text(
        pt="A seguir: a partir de {settled}, xlbridge resume {job} confere no sistema.",
        en="Next: from {settled} on, xlbridge resume {job} checks the system.",
        page=Text(
            pt="A seguir: a partir de {settled}, continue {job} em Envios, que confere no sistema.",
            en="Next: from {settled} on, continue {job} under Uploads, which checks the system.",
        ),
    ),
    State.NEEDS_PERSON: Text(
        pt="A seguir: confira no sistema. Se foi aplicado: "
        'xlbridge resolve {job} --as applied --reason "…"; se não: --as not-applied',
        en="Next: look in the system. If it was applied: "
        'xlbridge resolve {job} --as applied --reason "…"; if not: --as not-applied',
        page=Text(pt="A seguir: decida {job} em Envios.", en="Next: decide {job} under Uploads."),
    ),
    State.ABANDONED: Text(
        pt="A seguir: para enviar, repita o comando xlbridge upload {file} com as mesmas opções.",
        en="Next: to send the rows, repeat xlbridge upload {file} with the same options.",
    ),
}
_RETRY = Text(
    pt="A seguir: corrija as linhas em {rejects}, depois: xlbridge retry {job}",
    en="Next: fix the rows in {rejects}, then: xlbridge retry {job}",
)
_HELD = Text(
    pt="A seguir: veja em {rejects} por que cada linha aguarda você; as que você corrigir ali vão "
    "com: xlbridge retry {job}",
    en="Next: see in {rejects} why each row waits for you; those that you correct there are "
    "sent by: xlbridge retry {job}",
)
_WRITE_AGAIN = Text(
    pt="A seguir: {rejects} não está mais lá; para gravá-lo de novo: xlbridge resume {job}",
    en="Next: {rejects} is not there any more; to write it again: xlbridge resume {job}",
)
_COMPLETE = Text(
    pt="A seguir: confira um destes registros no sistema; a grafia do campo pode ser outra ali "
    "(declare-a em spellings, no arquivo de particularidades). Depois complete-os: "
    "xlbridge upload {file} --update",
    en="Next: look at one of these records in the system; the field may be spelled otherwise there "
    "(declare that under spellings, in the quirks file). Then complete them: "
    "xlbridge upload {file} --update",
)
_LOOK = Text(
    pt="A seguir: confira estes campos num dos registros, no sistema. Se estão lá, declare em "
    "spellings, no arquivo de particularidades (profiles.d/{profile}.quirks.yaml), a grafia com "
    "que foram enviados; se não, a outra",
    en="Next: look at these fields in one of the records, in the system. If they are there, "
    "declare the spelling in which they were sent under spellings, in the quirks file "
    "(profiles.d/{profile}.quirks.yaml); if not, the other one",
)
_COMPARE = Text(
    pt="A seguir: xlbridge upload {file} --update compara de novo; o plano mostra o que difere",
    en="Next: xlbridge upload {file} --update compares again; the plan shows what differs",
)
_STATUS_COPY = Text(
    pt="A seguir: nada mais a fazer; uma cópia do arquivo com os códigos do sistema: "
    "xlbridge jobs {job} --annotate {copy}",
    en="Next: nothing is left to do; a copy of the workbook with the system's codes: "
    "xlbridge jobs {job} --annotate {copy}",
)
_STATUS_COPY_NAME = Text(pt="-enviada.xlsx", en="-sent.xlsx")


def job_json(journal: Journal, job: Job, *, with_rows: bool = True) -> dict[str, Any]:
    """Return the job as JSON. See the product brief, ``upload --format json``.

    ``rows`` and ``rejected`` are as they are now, after retries and undos. ``with_rows`` lists the
    rows of its plan that are not created.
    """
    ledger = changed_ledger(journal, job)
    settled, undone = _changed_since(ledger, job)
    return {
        "version": 1,
        "job": job.id,
        "state": job.public_state,
        "target": job.notes.target,
        "mode": job.spec.mode,
        "resource": job.spec.resource,
        "log_id": job.known.log_id,
        "rows": counts_in(ledger, journal, job),
        "rejected": [
            {
                "row": None if row.row is None else sheet_row(row.row),
                "cell": row.cell,
                "column": row.column,
                "message": str(row.message),
            }
            for row in rejected_now(journal, job, ledger)
            if row.has_reason
        ],
        "rejects_file": job.notes.rejects_file,
        "lost_fields": [asdict(field) for field in job.known.lost_fields],
        "unseen_fields": list(job.known.unseen_fields),
        "uncompared": None if job.known.uncompared is None else str(job.known.uncompared),
        "digest": job.spec.digest,
        "plan": job.notes.plan,
        "not_created": [
            row.to_json()
            for row in (journal.plan_of(job) if with_rows else ())
            if not row.is_created
        ],
        "confirm": job.token,
        "previewed": job.known.previewed,
        "drift": [asdict(rule) for rule in drifted_rules(journal.changes.rejections(job.id))],
        "evidence_file": job.notes.evidence_file,
        "resolved": job.notes.resolved,
        "parts": job.parts,
        "part_of": job.parent,
        "settled": None if settled is None else {"rows": settled.rows, "by": settled.by},
        "undone": None if undone is None else {"rows": undone.rows, "by": undone.by},
        "undo_of": job.spec.undo_of,
    }


def _changed_since(ledger: RowLedger | None, job: Job) -> tuple[LaterRows | None, LaterRows | None]:
    """Return a job's rows that later jobs wrote and reversed, by the ledger that has these jobs."""
    return (None, None) if ledger is None else (ledger.settled(job), ledger.undone(job))


def _state_text(ledger: RowLedger | None, job: Job) -> Text:
    """Return the state of a job in words, and what later jobs made of its rows."""
    settled, undone = _changed_since(ledger, job)
    if undone is not None:
        text = Text(pt="{state} · desfeitas: {n}", en="{state} · undone: {n}")
        return text.format(state=job.state.text, n=count_text(undone.rows))
    if settled is not None:
        text = Text(pt="{state} · gravadas depois: {n}", en="{state} · written since: {n}")
        return text.format(state=job.state.text, n=count_text(settled.rows))
    return job.state.text


def upload_report(
    journal: Journal, job: Job, resource: Resource | None = None, *, with_reasons: bool = True
) -> Report:
    """Return the report of an upload, with its rows as they are now.

    With its ``resource``, for a page, columns have their titles, and what the validation does not
    predict is left to the table of all reasons. The reasons of rejected rows are there with
    ``with_reasons`` only, those without a row always.
    """
    ledger = changed_ledger(journal, job)
    settled, undone = _changed_since(ledger, job)
    rejected = rejected_now(journal, job, ledger)
    remarks: list[Text] = []
    shows_drift = with_reasons and resource is None
    if shows_drift and (rules := drifted_rules(journal.changes.rejections(job.id))):
        remarks += _drift_remarks(job, rules)
    if settled is not None:
        count, left = count_text(settled.rows), count_text(settled.left)
        remarks.append(_SETTLED.format(rows=count, by=settled.by, left=left))
    for text, is_open in ((_UNSEEN, True), (_UNSEEN_ITEMS, False)):
        if unseen := [name for name in job.known.unseen_fields if has_open_name(name) is is_open]:
            remarks.append(text.format(n=len(unseen), fields=", ".join(unseen)))
    if job.known.uncompared is not None:
        remarks.append(_UNCOMPARED.format(reason=job.known.uncompared))
    if job.state is State.NEEDS_PERSON:
        remarks += evidence_remarks(job)
    if undone is not None:
        remarks.append(_UNDONE.format(rows=count_text(undone.rows), by=undone.by))
    tables = []
    if shown := [row for row in rejected if with_reasons or row.row is None]:
        by_titles = partial(titles.title_at, titles=job.notes.titles)
        title_at = by_titles if resource is None else resource.title_at
        tables.append(_rejected_table(shown, title_at))
    if job.known.lost_fields:
        tables.append(_lost_table(job.known.lost_fields))
    return Report(
        verdict=_verdict(job, counts_in(ledger, journal, job)),
        grade=Grade.ERROR
        if job.held or job.known.has_lost_fields
        else _GRADES.get(job.state, Grade.GOOD),
        facts=titles.quirks_facts(job.notes.target),
        remarks=remarks,
        tables=tables,
        next_steps=[_next_step(journal, job, settled)],
    )


_GRADES = {
    State.PARTIAL: Grade.ERROR,
    State.REJECTED: Grade.ERROR,
    State.ABANDONED: Grade.ERROR,
    State.IN_DOUBT: Grade.WARNING,
    State.NEEDS_PERSON: Grade.WARNING,
}
_SETTLED = Text(
    pt="Já gravadas depois: {rows} {rows:linha|linhas}, a última vez pelo envio {by}; "
    "{left:falta|faltam} {left}",
    en="Written since: {rows} {rows:row|rows}, the last by the upload {by}; {left} left",
)
_UNDONE = Text(
    pt="{rows:Desfeita|Desfeitas} depois, por {by}: {rows} {rows:linha|linhas}.",
    en="Undone since, by {by}: {rows} {rows:row|rows}.",
)
_REJECTED_HEADINGS = (
    Heading(titles.CELL),
    Heading(titles.COLUMN, 24, words=True),
    Heading(titles.MESSAGE, 60),
)


def _rejected_table(rejected: list[RejectedRow], title_at: Callable[[str], Text | str]) -> Table:
    lines = []
    for (name, message), rows in group_by_reason(
        ((row.column, row.message), row) for row in rejected
    ).items():
        column: Value = name and title_at(name)
        addresses = [row.cell or (row_text(row.row) if row.row else "–") for row in rows]
        address = list_first(addresses, _SHOWN_ROWS)
        text = untranslated("  ✗ {address}  {column}: {message}").format(
            address=address, column=column or "", message=message
        )
        lines.append(Line((address, column, message), Tone.OPEN, text))
    return Table(
        sheet=RowOutcome.REJECTED.count_title,
        headings=_REJECTED_HEADINGS,
        lines=lines,
        most=_SHOWN_ROWS,
    )


_LOST = Text(
    pt="  ✗ {column}: enviado “{sent}”, o sistema ficou sem valor (linhas {rows})",
    en="  ✗ {column}: sent “{sent}”, the system has no value (rows {rows})",
)
_CHANGED = Text(
    pt="  • {column}: enviado “{sent}”, o sistema tem “{stored}” (linhas {rows})",
    en="  • {column}: sent “{sent}”, the system has “{stored}” (rows {rows})",
)
_KEPT = Text(
    pt="  ✗ {column}: enviado “{sent}”, o sistema ficou com o valor de antes, “{stored}” (linhas "
    "{rows})",
    en="  ✗ {column}: sent “{sent}”, the system has kept the value before, “{stored}” (rows "
    "{rows})",
)
_UNSEEN = Text(
    pt="O nome {n:deste campo|destes campos} está em aberto, e nada mostrou se o sistema "
    "{n:o|os} gravou: {fields}.",
    en="The name of {n:this field|these fields} is open, and nothing has shown whether the "
    "system has stored {n:it|them}: {fields}.",
)
_UNSEEN_ITEMS = Text(
    pt="O sistema não mostra {n:este campo|estes campos} dos itens, e não se sabe se {n:o|os} "
    "gravou: {fields}.",
    en="The system does not show {n:this field|these fields} of the items, and whether it has "
    "stored {n:it|them} is not known: {fields}.",
)
_UNCOMPARED = Text(
    pt="O que o sistema gravou não foi comparado com a planilha: {reason}.",
    en="What the system has stored was not compared with the sheet: {reason}.",
)
_LOST_HEADINGS = (
    Heading(titles.COLUMN, 24, words=True),
    Heading(titles.SENT, 30),
    Heading(titles.IN_SYSTEM, 30),
    Heading(titles.ROWS, 30),
)


def _lost_table(lost: Sequence[LostField]) -> Table:
    """Return the table of the fields that the system has not taken, each once."""
    lines = []
    for field in lost:
        rows = list_first(list(map(row_text, field.rows)), _SHOWN_ROWS)
        sentence = _KEPT if field.kept else _LOST if field.stored is None else _CHANGED
        text = sentence.format(column=field.label, sent=field.sent, stored=field.stored, rows=rows)
        tone = Tone.OPEN if field.is_lost else Tone.PLAIN
        lines.append(Line((field.label, field.sent, field.stored or "", rows), tone, text))
    sheet = Text(pt="Campos não gravados", en="Fields not stored")
    return Table(sheet=sheet, headings=_LOST_HEADINGS, lines=lines, most=_SHOWN_ROWS)


def _verdict(job: Job, counts: Mapping[str, int]) -> Text:
    """Return the verdict on a job, with the counts of its rows as they are now."""
    headline = _HEADLINES.get(job.state, _NOT_SENT if job.known.log_id is None else _QUEUED)
    if job.state is State.IN_DOUBT and counts["unknown"] < len(job.spec.rows):
        headline = _PARTLY_IN_DOUBT
    if job.state is State.DONE and job.known.has_lost_fields:
        is_lost = any(field.is_lost for field in job.known.lost_fields)
        headline = _WITH_LOST_FIELDS if is_lost else _WITH_UNSEEN_FIELDS
    if job.deletes and job.state in _DELETED:
        headline = _DELETED[job.state]
    aside = min(job.notes.not_records, counts["held"])
    others = {**counts, "held": counts["held"] - aside, "aside": aside}
    rest = (text.format(n=count_text(others[name])) for name, text in _REST.items() if others[name])
    return headline.format(
        sent=count_text(len(job.spec.rows)),
        rest=joined(rest, ""),
        **{n: count_text(counts[n]) for n in ("read", "accepted", "rejected", "unknown")},
        previewed=job.known.previewed,
        reason=job.reason,
        log_id=job.known.log_id,
    )


_REST = {
    "unchanged": Text(pt="; sem alteração: {n}", en="; unchanged: {n}"),
    "held": Text(pt="; não enviadas, aguardando você: {n}", en="; not sent, waiting for you: {n}"),
    "aside": Text(
        pt="; deixadas de fora, não são registros: {n}", en="; set aside, not records: {n}"
    ),
    "undone": Text(pt="; desfeitas: {n}", en="; undone: {n}"),
}


def _next_step(journal: Journal, job: Job, settled: LaterRows | None) -> Text:
    """Return the next step; rejected or held rows take precedence."""
    file = Path(job.spec.file)
    known = {"job": job.arguments(), "file": as_arguments(file)}
    if job.state in {State.DONE, State.PARTIAL, State.REJECTED}:
        rejects = job.notes.rejects_file
        if settled is not None and not settled.left:
            return _NEXT_STEPS[State.DONE]
        if rejects:
            step = _HELD if job.state is State.DONE else _RETRY
            step = step if Path(rejects).exists() else _WRITE_AGAIN
            return step.format(rejects=as_arguments(Path(rejects)), **known)
        if any(field.is_lost for field in job.known.lost_fields):
            return _COMPLETE.format(**known)
        if job.known.uncompared is not None:
            return _COMPARE.format(**known)
        if job.known.has_lost_fields:
            return _LOOK.format(profile=job.spec.profile, **known)
        if job.state is not State.DONE:
            return _NEXT_STEPS[State.PARTIAL].format(**known)
        if journal.changes.has_accepted(job.id) and not job.deletes:
            copy = as_arguments(path_beside(Path(file.name), _STATUS_COPY_NAME))
            return _STATUS_COPY.format(copy=copy, **known)
    settles = job.settles_at
    moment = "–" if settles is None else f"{settles:%d/%m/%Y %H:%M:%S}"
    return _NEXT_STEPS.get(job.state, _RESUME).format(settled=moment, **known)


@dataclass(frozen=True, slots=True)
class DriftedRule:
    """Rule missing from the schema: its column, the message without values, and the row count."""

    column: str | None
    rule: str
    rows: int


def drifted_rules(rejections: Iterable[RejectedRow]) -> list[DriftedRule]:
    """Count the rejected rows by rule, the most frequent first.

    Messages that differ only in values count as one rule.
    """
    counts: Counter[tuple[str | None, str]] = Counter()
    for row in rejections:
        if row.itself:
            item = None if row.column is None else parse_item_column(row.column)
            column = f"{item[0]}.{item[2]}" if item else row.column
            counts[column, without_values(str(row.message))] += 1
    return [DriftedRule(column, rule, rows) for (column, rule), rows in counts.most_common()]


def _drift_remarks(job: Job, rules: Sequence[DriftedRule]) -> Iterator[Text]:
    yield Text(
        pt="O sistema rejeitou por motivos que a conferência não prevê:",
        en="The system rejected for reasons that the validation does not predict:",
    )
    for rule in rules:
        title = rule.column and titles.title_at(rule.column, job.notes.titles)
        what = f"{title}: {rule.rule}" if title else rule.rule
        yield untranslated("  {n} × {what}").format(n=rule.rows, what=what)


_COUNTED = (RowOutcome.ACCEPTED, RowOutcome.REJECTED)
_SELDOM_COUNTED = (
    RowOutcome.UNCHANGED,
    RowOutcome.HELD,
    RowOutcome.UNDONE,
    RowOutcome.UNKNOWN,
)
"""Outcomes whose counts are left out if all are zero, so that lines fit the screen."""


def jobs_table(
    journal: Journal,
    jobs: Sequence[Job],
    show_file: Callable[[Path], object] = short_path,
    show_resource: Callable[[str], object] = str,
) -> Table:
    """Return a table of jobs with the counts of their rows as they are now."""
    ledgers = [changed_ledger(journal, job) for job in jobs]
    counts = [counts_in(of, journal, job) for of, job in zip(ledgers, jobs, strict=True)]
    for job, own in zip(jobs, counts, strict=True):
        if job.spec.mode.channel.of_listing:
            # Its report counts records that the plan skips as rejected.
            own["rejected"], own["held"] = own["rejected"] + own["held"], 0
        if not job.state.has_sent:
            # Nothing of it can have been written.
            own["unknown"] = 0
    counted = [*_COUNTED, *(o for o in _SELDOM_COUNTED if any(own[o] for own in counts))]
    return Table(
        sheet=titles.UPLOADS,
        headings=(
            *map(Heading, (titles.UPLOAD, titles.DATE, titles.STATE, titles.MODE)),
            *map(Heading, (titles.RESOURCE, titles.ROWS)),
            *(Heading(outcome.count_title) for outcome in counted),
            Heading(titles.ENVIRONMENT, words=True),
            Heading(titles.FILE, path=True, words=True),
        ),
        lines=[
            Line(
                (
                    job.id if job.parent is None else f"  {job.id}",
                    f"{job.created_at:%d/%m/%Y %H:%M}",
                    _state_text(ledger, job),
                    job.spec.mode.channel.name,
                    str(show_resource(job.spec.resource)),
                    own["read"],
                    *(own[outcome] for outcome in counted),
                    job.spec.profile,
                    str(show_file(Path(job.spec.file))) if job.spec.file else None,
                )
            )
            for job, own, ledger in zip(jobs, counts, ledgers, strict=True)
        ],
        aligned=True,
    )


_HISTORY_HEADINGS = (
    Heading(titles.DATE, 20),
    Heading(titles.STATE, 20),
    Heading(titles.NOTE, 60),
)
_MESSAGES = ("reason", "unread", "uncompared")
_FILES = ("rejects_file", "evidence_file")


def history_table(job: Job) -> Table:
    """Return the states of a job with their times and details."""
    lines = []
    for event in job.events:
        at, state = f"{event.at:%d/%m/%Y %H:%M:%S}", event.state.text
        note = joined(_event_notes(event.detail), "\n")
        short = event.detail.get("rejects_file") or event.detail.get("log_id") or ""
        text = Text(*(f"{at}  {name:18}  {short}".rstrip() for name in (state.pt, state.en)))
        lines.append(Line((at, state, note), text=text))
    return Table(sheet=Text(pt="Histórico", en="History"), headings=_HISTORY_HEADINGS, lines=lines)


def _event_notes(detail: Mapping[str, Any]) -> Iterator[Text]:
    """Yield the details of a state that a person reads: messages, the log and files."""
    for name, value in detail.items():
        if value is None:
            continue
        if name in _MESSAGES:
            yield Text.of_json(value)
        elif name == "log_id":
            yield untranslated(f"Log {value}")
        elif name in _FILES:
            yield untranslated(Path(value).name)


def evidence_remarks(job: Job) -> Iterator[Text]:
    """Yield the path of the page on a job in doubt, if there is one."""
    page = job.notes.evidence_file
    if page is not None and Path(page).exists():
        yield Text(
            pt="O que se sabe, e o que conferir: {file}",
            en="What is known, and what to check: {file}",
        ).format(file=short_path(Path(page)))


def decision_step(job: Job) -> Text:
    """Return the next step of a job that only a person can decide."""
    return _NEXT_STEPS[State.NEEDS_PERSON].format(job=job.arguments())
