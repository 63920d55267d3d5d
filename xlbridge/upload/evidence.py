"""Evidence that an upload leaves behind: the rejects workbook, and the page of an upload in doubt.

The page is one HTML file in both languages that fetches nothing; a person decides from it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.errors import UsageError
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, State
from xlbridge.upload.snapshot import Moment, RowSnapshot, StoredSnapshot
from xlbridge.upload.verdict import REJECTED_AS_A_WHOLE

if TYPE_CHECKING:
    from xlbridge.upload.lookup import RowValues

REJECTS_INFIX = "rejeitadas"
"""Part of the names of rejects workbooks."""

_REJECTS_NAME = re.compile(rf".+-{REJECTS_INFIX}-\d{{8}}-\d{{6}}-[0-9a-f]{{4}}")


def is_rejects_name(path: Path) -> bool:
    """Whether a file is named as the rejects workbooks that uploads leave behind."""
    return _REJECTS_NAME.fullmatch(path.stem) is not None


def ensure_evidence(context: UploadContext, job: Job) -> Job:
    """Write the evidence that a job should have and has not, and return the job as it is then.

    Where rows were rejected that is their workbook; where a person must decide, a page to decide
    from. Both go beside the analyst's file, or into the home folder where that is not possible.
    """
    journal = context.journal
    for part in journal.parts_of(job):
        ensure_evidence(context, part)
    if _lacks_page(job):
        written = _write_beside(context, job, "em-duvida", ".html", _write_doubt_page)
        job = journal.record(job, job.state, evidence_file=str(written))
    if _lacks_rejects(job):
        written = _write_beside(context, job, REJECTS_INFIX, ".xlsx", _write_rejects_workbook)
        job = journal.record(job, job.state, rejects_file=str(written))
    return job


def _lacks_page(job: Job) -> bool:
    """Whether a person must decide and has no page to decide from."""
    doubtful = job.state is State.NEEDS_PERSON and not job.parts
    return doubtful and not _file_exists(job, "evidence_file")


def _lacks_rejects(job: Job) -> bool:
    """Whether rows were rejected and are in no workbook to be corrected."""
    if job.parent is not None:
        return False
    rejected = job.state in {State.PARTIAL, State.REJECTED} or (
        job.state is State.NEEDS_PERSON and bool(job.verdict.rejected_rows)
    )
    return rejected and not _file_exists(job, "rejects_file")


def _file_exists(job: Job, key: str) -> bool:
    written = job.last(key)
    return written is not None and Path(written).exists()


def _write_beside(
    context: UploadContext,
    job: Job,
    infix: str,
    suffix: str,
    write: Callable[[UploadContext, Job, Path], None],
) -> Path:
    """Write a file beside the analyst's, or into the home folder; return where it is."""
    file = Path(job.what.file)
    target = file.with_name(f"{file.stem}-{infix}-{job.id}{suffix}")
    try:
        write(context, job, target)
    except UsageError:
        target = context.settings.home / "evidence" / target.name
        target.parent.mkdir(parents=True, exist_ok=True)
        write(context, job, target)
    return target


def _write_rejects_workbook(context: UploadContext, job: Job, target: Path) -> None:
    """Write the rejected rows of a job to ``target``, in the layout of the template.

    Where the whole sheet was rejected, rows without an error of their own are in it too: they were
    not applied either. Raises ``UsageError`` when the file cannot be written.
    """
    # What reads and writes workbooks takes its time to import, and is hardly ever needed here.
    from xlbridge.upload.payload import sent_frame
    from xlbridge.workbook.write import write_rejects

    reasons = job.verdict.reasons
    whole = job.state is State.REJECTED
    positions = [at for at, row in enumerate(job.what.rows) if whole or row in reasons]
    rows = [job.what.rows[at] for at in positions]
    write_rejects(
        target,
        context.catalogue.named(job.what.resource),
        sent_frame(context, job).iloc[positions].reset_index(drop=True),
        rows,
        [reasons.get(row, str(REJECTED_AS_A_WHOLE)) for row in rows],
    )


def _write_doubt_page(context: UploadContext, job: Job, target: Path) -> None:
    from xlbridge.upload.payload import sent_rows

    page = doubt_page(job, sent_rows(context, job), context.journal.snapshots(job.id))
    with replace_atomically(target) as temporary:
        temporary.write_text(page, encoding="utf-8")


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;
color:#1b1b1b;background:#fff}
h1{font-size:1.5rem;color:#1F4E78}h2{font-size:1.15rem;margin-top:2rem;color:#1F4E78}
.two{display:grid;grid-template-columns:1fr 1fr;gap:2rem}
.ask{background:#FFF2CC;border:1px solid #d6b656;border-radius:6px;padding:.5rem 1.2rem}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{border:1px solid #BFBFBF;padding:.35rem .5rem;text-align:left;vertical-align:top}
th{background:#DDEBF7}code{font:13px ui-monospace,monospace;background:#f2f2f2;padding:0 .25rem;
overflow-wrap:anywhere}small{color:#595959}.wide{overflow-x:auto}
@media(max-width:50rem){.two{grid-template-columns:1fr}}@media print{body{margin:0;max-width:none}}
"""

_QUESTION = Text(
    pt="{rows:A linha deste envio está|As {rows} linhas deste envio estão} no sistema ou não? O "
    "xlbridge não conseguiu provar: "
    "{reason}. Até alguém decidir, {rows:ela não é enviada|elas não são enviadas} de novo.",
    en="{rows:Is the row|Are the {rows} rows} of this upload in the system or not? xlbridge could "
    "not prove it: "
    "{reason}. Until someone decides, {rows:it is|they are} not sent again.",
)
_STEPS = (
    Text(
        pt="Abra o sistema ({profile}) e procure as linhas da tabela abaixo, pela chave ou, sem "
        "chave, pelos valores. Comece pela primeira e pela última.",
        en="Open the system ({profile}) and look for the rows in the table below, by their key or, "
        "without one, by their values. Begin with the first and the last.",
    ),
    Text(
        pt="Confira também se há uma importação ainda na fila ou em andamento a partir de {since}.",
        en="See also whether an import is still queued or running there since {since}.",
    ),
    Text(
        pt='Estão todas lá: <code>xlbridge resolve {job} --as applied --reason "…"</code>',
        en='All are there: <code>xlbridge resolve {job} --as applied --reason "…"</code>',
    ),
    Text(
        pt='Nenhuma está lá: <code>xlbridge resolve {job} --as not-applied --reason "…"</code>; '
        "depois envie a planilha de novo.",
        en='None is there: <code>xlbridge resolve {job} --as not-applied --reason "…"</code>; '
        "then upload the workbook again.",
    ),
    Text(
        pt="Só uma parte está lá: complete ou desfaça à mão no sistema, e então responda.",
        en="Only some are there: complete or undo it by hand in the system, and then answer.",
    ),
)


def doubt_page(job: Job, sent: Sequence["RowValues"], snapshots: Sequence[StoredSnapshot]) -> str:
    """Return the page as HTML: the rows as sent, the job's history, the snapshots of its records.

    ``sent`` has a mapping of columns to values for each row.
    """
    title = f"xlbridge · {job.id}"
    parts = [
        "<!doctype html><html lang=pt-BR><head><meta charset=utf-8>",
        '<meta name=viewport content="width=device-width,initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        "<h1>Envio em dúvida · Upload in doubt</h1>",
        _question_html(job),
        "<h2>O que foi enviado · What was sent</h2>",
        _facts_html(job),
        "<h2>O que aconteceu · What happened</h2>",
        _history_html(job),
        "<h2>As linhas · The rows</h2>",
        _rows_html(job, sent, snapshots),
        "</body></html>",
    ]
    return "\n".join(parts)


def _question_html(job: Job) -> str:
    reason = job.reason
    values = {
        "rows": len(job.what.rows),
        "profile": escape(job.what.profile),
        "since": f"{job.created_at:%d/%m/%Y %H:%M}",
        "job": escape(job.id),
        "reason": Text(pt=escape(reason.pt), en=escape(reason.en)),
    }
    asked = _QUESTION.format(**values)
    steps = [step.format(**values) for step in _STEPS]
    columns = (
        ("pt-BR", "O que fazer", asked.pt, [step.pt for step in steps]),
        ("en", "What to do", asked.en, [step.en for step in steps]),
    )
    sections = (
        f"<section lang={lang}><p><b>{head}</b></p><p>{question}</p><ol>"
        + "".join(f"<li>{item}</li>" for item in items)
        + "</ol></section>"
        for lang, head, question, items in columns
    )
    return f"<div class='ask two'>{''.join(sections)}</div>"


def _facts_html(job: Job) -> str:
    what = job.what
    facts = {
        "Envio · Upload": job.id,
        "Ambiente · Environment": f"{what.profile} {job.last('address') or ''}".strip(),
        "Recurso · Resource": what.resource,
        "Modo · Mode": what.mode,
        "Arquivo · File": f"{what.file} [{what.sheet}]",
        "Linhas · Rows": str(len(what.rows)),
        "Digest": what.digest,
        "Log": str(job.last("log_id") or "–"),
    }
    return _table_html([[f"<b>{escape(name)}</b>", escape(value)] for name, value in facts.items()])


def _history_html(job: Job) -> str:
    header = ["Quando · When", "Estado · State", "Nota · Note"]
    return _table_html(
        [
            [
                f"{event.at:%d/%m/%Y %H:%M:%S}",
                f"<code>{event.state}</code>",
                _event_html(event.detail),
            ]
            for event in job.events
        ],
        header,
    )


def _event_html(detail: Mapping[str, Any]) -> str:
    notes = []
    for key, value in detail.items():
        if key in ("reason", "unread"):
            notes.append(f"{escape(value['pt'])}<br><small lang=en>{escape(value['en'])}</small>")
        elif key not in ("verdict", "origins", "file_hash", "proven"):
            notes.append(f"{escape(key)}: {escape(str(value))}")
    return "<br>".join(notes)


def _rows_html(job: Job, sent: Sequence["RowValues"], snapshots: Sequence[StoredSnapshot]) -> str:
    header = ["Linha · Row", "Chave · Key", "Enviado · Sent"]
    header += [f"{_MOMENT_LABELS[one.moment]} {one.at:%d/%m %H:%M:%S}" for one in snapshots]
    columns = [one.rows for one in snapshots]
    body = [
        [str(number), _key_html(found), _values_html(row), *map(_found_html, found)]
        for number, row, *found in zip(job.what.rows, sent, *columns, strict=True)
    ]
    none = (
        "" if snapshots else "<p>Nada foi lido do sistema. · Nothing was read from the system.</p>"
    )
    return f"{none}<div class=wide>{_table_html(body, header)}</div>"


_MOMENT_LABELS = {
    Moment.BEFORE: "Antes · Before",
    Moment.AFTER: "Depois · After",
    Moment.CODES: "Códigos · Codes",
}


def _key_html(found: Sequence[RowSnapshot | None]) -> str:
    known = next((row for row in found if row is not None), None)
    return _values_html(known.key) if known else "–"


def _found_html(row: RowSnapshot | None) -> str:
    if row is None:
        return "sem chave · no key"
    if not row.found:
        return "não está lá · not there"
    return "<br>".join(
        f"<code>{escape(record.code)}</code> "
        + (
            "igual · the same"
            if record.same
            else f"diferente · differs<br>{_values_html(record.values)}"
        )
        for record in row.found
    )


def _values_html(values: Mapping[str, Any]) -> str:
    return "<br>".join(
        f"<small>{escape(name)}</small> {escape(str(value))}"
        for name, value in values.items()
        if value is not None
    )


def _table_html(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> str:
    head = f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in header)}</tr>" if header else ""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{head}{body}</table>"
