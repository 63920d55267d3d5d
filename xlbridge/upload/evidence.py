"""Evidence that an upload leaves behind: the rejects workbook, and the page of an upload in doubt.

The page is one HTML file in both languages that fetches nothing; a person decides from it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, State
from xlbridge.upload.lookup import RowValues
from xlbridge.upload.payload import sent_frame, sent_rows
from xlbridge.upload.report import REJECTS_INFIX, lacks_page, lacks_rejects
from xlbridge.upload.snapshot import RowSnapshot, snapshot_from_json
from xlbridge.upload.verdict import REJECTED_AS_A_WHOLE, verdict_of
from xlbridge.workbook.write import write_rejects


def write_rejects_workbook(context: UploadContext, job: Job, target: Path) -> None:
    """Write the refused rows of a job to ``target``, in the layout of the template.

    Where the whole sheet was refused, rows that were not complained about are in it too: they
    were not applied either. Raises ``UsageError`` when the file cannot be written.
    """
    reasons: dict[int | None, list[str]] = defaultdict(list)
    for refused in verdict_of(job).rejected_rows:
        column = f"{refused.column}: " if refused.column else ""
        reasons[refused.row].append(f"{column}{refused.message}")
    if job.state is State.REJECTED:
        rows = list(job.what.rows)
    else:
        rows = [row for row in job.what.rows if row in reasons]
    wanted = set(rows)
    positions = [place for place, row in enumerate(job.what.rows) if row in wanted]
    write_rejects(
        target,
        context.catalogue.named(job.what.resource),
        sent_frame(context, job).iloc[positions].reset_index(drop=True),
        rows,
        ["; ".join(reasons.get(row, [str(REJECTED_AS_A_WHOLE)])) for row in rows],
    )


StoredSnapshots = Sequence[tuple[datetime, str, list[Any]]]
"""When something was read, at which moment of the upload, and what for each row."""

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


def doubt_page(job: Job, sent: Sequence[RowValues], readings: StoredSnapshots) -> str:
    """Return the page as HTML: what was sent, when, what was answered, read before and after."""
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
        _rows_html(job, sent, readings),
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
    told = (
        f"<section lang={lang}><p><b>{head}</b></p><p>{question}</p><ol>"
        + "".join(f"<li>{item}</li>" for item in items)
        + "</ol></section>"
        for lang, head, question, items in columns
    )
    return f"<div class='ask two'>{''.join(told)}</div>"


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
    told = []
    for key, value in detail.items():
        if key in ("reason", "unread"):
            told.append(f"{escape(value['pt'])}<br><small lang=en>{escape(value['en'])}</small>")
        elif key not in ("verdict", "origins", "file_hash", "proven"):
            told.append(f"{escape(key)}: {escape(str(value))}")
    return "<br>".join(told)


def _rows_html(job: Job, sent: Sequence[RowValues], readings: StoredSnapshots) -> str:
    header = ["Linha · Row", "Chave · Key", "Enviado · Sent"]
    header += [
        f"{_MOMENT_LABELS.get(moment, moment)} {at:%d/%m %H:%M:%S}" for at, moment, _ in readings
    ]
    columns = [snapshot_from_json(rows) for _, _, rows in readings]
    body = [
        [str(number), _key_html(read), _values_html(row), *map(_found_html, read)]
        for number, row, *read in zip(job.what.rows, sent, *columns, strict=True)
    ]
    none = (
        "" if readings else "<p>Nada foi lido do sistema. · Nothing was read from the system.</p>"
    )
    return f"{none}<div class=wide>{_table_html(body, header)}</div>"


_MOMENT_LABELS = {"before": "Antes · Before", "after": "Depois · After"}


def _key_html(readings: Sequence[RowSnapshot | None]) -> str:
    known = next((reading for reading in readings if reading is not None), None)
    return _values_html(known.key) if known else "–"


def _found_html(reading: RowSnapshot | None) -> str:
    if reading is None:
        return "sem chave · no key"
    if not reading.found:
        return "não está lá · not there"
    return "<br>".join(
        f"<code>{escape(record.code)}</code> "
        + (
            "igual · the same"
            if record.same
            else f"diferente · differs<br>{_values_html(record.values)}"
        )
        for record in reading.found
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


def write_evidence(context: UploadContext, job: Job) -> Job:
    """Write the evidence that a job should have and has not, and return the job as it is then.

    Where rows were rejected that is their workbook; where a person must decide, a page to decide
    from. Both go beside the analyst's file, or into the home folder where that is not possible.
    """
    journal = context.journal
    for part in journal.parts_of(job):
        write_evidence(context, part)
    if lacks_page(job):
        page = doubt_page(job, sent_rows(context, job), journal.snapshots(job.id))
        written = _write_beside(
            context, job, "em-duvida", ".html", lambda path: _write_page(path, page)
        )
        job = journal.record(job, job.state, evidence_file=str(written))
    if lacks_rejects(job):
        rejects = partial(write_rejects_workbook, context, job)
        written = _write_beside(context, job, REJECTS_INFIX, ".xlsx", rejects)
        job = journal.record(job, job.state, rejects_file=str(written))
    return job


def _write_beside(
    context: UploadContext, job: Job, what: str, suffix: str, write: Callable[[Path], None]
) -> Path:
    file = Path(job.what.file)
    target = file.with_name(f"{file.stem}-{what}-{job.id}{suffix}")
    try:
        write(target)
    except UsageError:
        target = context.settings.home / "evidence" / target.name
        target.parent.mkdir(parents=True, exist_ok=True)
        write(target)
    return target


def _write_page(path: Path, page: str) -> None:
    with replace_atomically(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
