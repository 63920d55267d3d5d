"""Page of an upload in doubt, from which a person decides.

It is one HTML file in both languages that loads nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xlbridge.i18n import Text
from xlbridge.pages import render_page
from xlbridge.resources import Mode
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.snapshot import Moment, RowSnapshot, StoredSnapshot
from xlbridge.upload.verdict import RowOutcome

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
    "without one, by their values. Begin with the first and the last.",
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
_ALL_THERE = Text(
    pt="Se todas estão lá, responda:",
    en="If all are there, answer:",
)
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
    Moment.TWINS: "Iguais, antes · Equal ones, before",
}
_BILINGUAL_DETAILS = ("reason", "unread")
_UNLISTED_DETAILS = ("verdict", "origins", "file_hash", "proven")


class _PageRow(NamedTuple):
    """Row of the page: Excel's number, key or None, values sent, and what each snapshot has."""

    number: int
    key: Mapping[str, str] | None
    sent: Mapping[str, Any]
    found: Sequence[RowSnapshot | None]


def doubt_page(
    job: Job, sent: Sequence[Mapping[str, Any]], snapshots: Sequence[StoredSnapshot]
) -> str:
    """Return the page as HTML: the rows in doubt, the job's history, the snapshots of its records.

    ``sent`` has a mapping of columns to values for each row.
    """
    return render_page(
        "xlbridge.upload",
        title=f"xlbridge · {job.id}",
        what_to_do=_WHAT_TO_DO,
        question=_question(job).format(rows=len(_open_rows(job)), reason=job.reason),
        steps=list(_steps(job)),
        facts=_facts(job),
        events=job.events,
        bilingual=_BILINGUAL_DETAILS,
        unlisted=_UNLISTED_DETAILS,
        snapshots=snapshots,
        moments=_MOMENTS,
        rows=list(_rows(job, sent, snapshots)),
    )


def _open_rows(job: Job) -> set[int]:
    """Return the numbers of the rows that nothing has proven to be there or not."""
    outcomes = zip(job.what.rows, job.outcomes, strict=True)
    return {row for row, outcome in outcomes if outcome is RowOutcome.UNKNOWN}


def _question(job: Job) -> Text:
    return _PROCESSED_OR_NOT if job.what.mode is Mode.PROCESS else _QUESTION


def _steps(job: Job) -> Iterator[tuple[Text, str | None]]:
    """Yield what a person does in turn, each with its command where there is one."""
    applied = f'xlbridge resolve {job.id} --as applied --reason "…"'
    not_applied = f'xlbridge resolve {job.id} --as not-applied --reason "…"'
    if job.what.mode is Mode.PROCESS:
        place = {"profile": job.what.profile, "listing": job.what.resource}
        yield _LOOK_AT_RECORDS.format(**place), None
        yield _ALL_PROCESSED, applied
        yield _NONE_PROCESSED, not_applied
        yield _SOME_PROCESSED, None
        return
    yield _SEARCH.format(profile=job.what.profile), None
    yield _SEE_IMPORTS.format(since=f"{job.created_at:%d/%m/%Y %H:%M}"), None
    yield _ALL_THERE, applied
    yield _NONE_THERE, not_applied
    yield _SOME_THERE, None


def _facts(job: Job) -> Mapping[str, str]:
    what = job.what
    return {
        "Envio · Upload": job.id,
        "Ambiente · Environment": f"{what.profile} {job.last('address') or ''}".strip(),
        "Recurso · Resource": what.resource,
        "Modo · Mode": what.mode,
        "Arquivo · File": f"{what.file} [{what.sheet}]",
        "Linhas · Rows": f"{len(_open_rows(job))} / {len(what.rows)}",
        "Digest": what.digest,
        "Log": str(job.last("log_id") or "–"),
    }


def _rows(
    job: Job, sent: Sequence[Mapping[str, Any]], snapshots: Sequence[StoredSnapshot]
) -> Iterator[_PageRow]:
    columns = [snapshot.rows for snapshot in snapshots]
    in_doubt = _open_rows(job)
    for number, values, *found in zip(job.what.rows, sent, *columns, strict=True):
        if number not in in_doubt:
            continue
        key = next((row.key for row in found if row is not None), None)
        yield _PageRow(number, key, values, found)
