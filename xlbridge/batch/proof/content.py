"""Content of a proof: its facts, row counts, control totals, and the order of its tables."""

from collections.abc import Iterator
from dataclasses import asdict, astuple

from xlbridge import __version__
from xlbridge.batch.proof.detail_tables import (
    difference_table,
    export_table,
    file_table,
    job_table,
    open_row_table,
    refused_table,
    typed_value,
)
from xlbridge.batch.proof.model import Proof, ProofCounts, Total, TotalTable
from xlbridge.i18n import Text, untranslated
from xlbridge.report_forms import Heading, Line, Table, Tone, Value, grouped_number

_WHOLE_BATCH = Text(pt="Total do lote", en="The whole batch")
_STEPS_SHEET = Text(pt="Etapas", en="Steps")
_RESOURCE = Heading(Text(pt="Recurso", en="Resource"), 22)

_STEP_HEADINGS = (
    Heading(Text(pt="Etapa e arquivo", en="Step and workbook"), 28),
    _RESOURCE,
    Heading(Text(pt="Lidas", en="Read"), 12),
    Heading(Text(pt="Aceitas", en="Accepted"), 12),
    Heading(Text(pt="Sem alteração", en="Unchanged"), 12),
    Heading(Text(pt="Retidas", en="Held"), 12, alarming=True),
    Heading(Text(pt="Rejeitadas", en="Rejected"), 12, alarming=True),
    Heading(
        Text(pt="Destas, sem rejeição própria", en="Of these, not rejected themselves"),
        12,
        alarming=True,
    ),
    Heading(Text(pt="Desfeitas", en="Undone"), 12, alarming=True),
    Heading(Text(pt="Não enviadas", en="Not sent"), 12, alarming=True),
    Heading(Text(pt="Sem resultado", en="Unknown"), 12, alarming=True),
    Heading(Text(pt="Lidas de volta: iguais", en="Read back: the same"), 12),
    Heading(Text(pt="Com diferença", en="Different"), 12, alarming=True),
    Heading(Text(pt="Ausentes", en="Missing"), 12, alarming=True),
    Heading(Text(pt="Mais de uma vez", en="More than once"), 12, alarming=True),
    Heading(Text(pt="Sem leitura possível", en="Cannot be read back"), 12),
    Heading(Text(pt="Observação", en="Note"), 28, words=True),
)
"""Headings of name, resource, the fields of ``ProofCounts`` in order, and note."""


def _step_table(proof: Proof) -> Table:
    lines = []
    for step in proof.steps:
        lines.append(_step_line(step.name, None, step.counts, Tone.HEAD))
        for file in step.files:
            reason = file.file.not_sent_because
            lines.append(_step_line(file.file.path.name, file.resource, file.counts, note=reason))
    if proof.steps:
        lines.append(_step_line(_WHOLE_BATCH, None, proof.counts, Tone.SUM))
    return Table(
        sheet=_STEPS_SHEET,
        headings=_STEP_HEADINGS,
        lines=lines,
        none=Text(pt="O lote não tem envios.", en="The batch has no uploads."),
        about=Text(
            pt="Lidas = aceitas + sem alteração + retidas + rejeitadas + desfeitas + não "
            "enviadas + sem resultado. Aceitas e sem alteração = iguais + com diferença + ausentes "
            "+ mais de uma vez + sem leitura possível. Linhas que não são registros não são "
            "contadas.",
            en="Read = accepted + unchanged + held + rejected + undone + not sent + unknown. "
            "Accepted and unchanged = the same + different + missing + more than once + cannot be "
            "read back. Rows that are not records are not counted.",
        ),
    )


def _step_line(
    name: Value,
    resource: Value,
    counts: ProofCounts,
    tone: Tone = Tone.PLAIN,
    note: Value = None,
) -> Line:
    return Line((name, resource, *astuple(counts), note), tone)


def _unread_table(proof: Proof) -> Table:
    """Return the counts of accepted rows that cannot be read back, by reason."""
    return Table(
        sheet=_READ_BACK_SHEET,
        title=Text(pt="Linhas sem leitura possível", en="Rows that cannot be read back"),
        headings=(
            _RESOURCE,
            Heading(Text(pt="Linhas", en="Rows"), 10),
            Heading(Text(pt="Motivo", en="Reason"), 60),
        ),
        lines=[Line((unread.resource, unread.rows, unread.reason)) for unread in proof.unread],
        none=Text(
            pt="Todas as linhas aceitas foram lidas de volta.",
            en="All accepted rows were read back.",
        ),
        about=Text(
            pt="Só a resposta do sistema ao envio prova que estas linhas foram aceitas.",
            en="Only the system's answer to the upload proves that these rows were accepted.",
        ),
    )


_READ_BACK_SHEET = Text(pt="Leitura de volta", en="Read-back")


def _field_table(proof: Proof) -> Table:
    """Return the columns that are compared with the system, and those it does not return."""
    return Table(
        sheet=_READ_BACK_SHEET,
        title=Text(pt="Campos comparados", en="Fields compared"),
        headings=(
            _RESOURCE,
            Heading(Text(pt="Comparados com o sistema", en="Compared with the system"), 60),
            Heading(Text(pt="Não comparados", en="Not compared"), 60),
        ),
        lines=[
            Line(
                (
                    fields.resource,
                    ", ".join(fields.compared) or None,
                    ", ".join(fields.not_returned) or None,
                )
            )
            for fields in proof.fields
        ],
        none=Text(pt="Nada foi lido de volta.", en="Nothing was read back."),
    )


_TOTALS_SHEET = Text(pt="Totais de controle", en="Control totals")
_NO_TOTALS = Text(pt="Nenhuma linha aceita.", en="No row was accepted.")
_TOTAL = untranslated("Total")
_EMPTY = Text(pt="(vazio)", en="(empty)")
_ACCEPTED_ROWS = Heading(Text(pt="Linhas aceitas", en="Rows accepted"), 10)
_UNREAD_ROWS = Heading(Text(pt="Destas, não lidas de volta", en="Of these, not read back"), 12)
_FOUND_ROWS = Heading(Text(pt="Linhas lidas de volta", en="Rows read back"), 10)
_ROWS_DIFFERENCE = Heading(
    Text(pt="Diferença em linhas", en="Difference in rows"), 13, alarming=True
)
_SENT = Heading(Text(pt="Enviado e aceito (R$)", en="Sent and accepted (R$)"), 16)
_UNREAD = Heading(
    Text(pt="Deste valor, não lido de volta (R$)", en="Of this, not read back (R$)"), 16
)
_FOUND = Heading(Text(pt="Lido de volta (R$)", en="Read back (R$)"), 16)
_DIFFERENCE = Heading(Text(pt="Diferença (R$)", en="Difference (R$)"), 14, alarming=True)
_TOTALS_TITLE = Text(pt="{resource} · {amount} por {by}", en="{resource} · {amount} by {by}")
_COUNT = Text(pt="linhas", en="rows")
_ABOUT_TOTALS = Text(
    pt="Somas exatas ao centavo das linhas aceitas, como enviadas e como estão no sistema. A "
    "diferença é o valor lido de volta menos o valor enviado que pode ser lido. Um registro cuja "
    "data, cliente ou filial mudou é somado onde está no sistema.",
    en="Sums of the accepted rows, exact to the cent, as they were sent and as the system has "
    "them. The difference is the amount read back minus the amount sent that can be read back. A "
    "record whose date, client or branch has changed is counted where the system has it.",
)


def _total_tables(proof: Proof) -> Iterator[Table]:
    if not proof.totals:
        yield Table(sheet=_TOTALS_SHEET, lines=(), none=_NO_TOTALS, about=_ABOUT_TOTALS)
    for index, table in enumerate(proof.totals):
        title = _TOTALS_TITLE.format(
            resource=table.resource, amount=table.amount or _COUNT, by=table.by
        )
        counts = (_ACCEPTED_ROWS, _UNREAD_ROWS, _FOUND_ROWS, _ROWS_DIFFERENCE)
        amounts = () if table.amount is None else (_SENT, _UNREAD, _FOUND, _DIFFERENCE)
        headings = (Heading(table.by, 22), *counts, *amounts)
        lines = [_total_line(table, total, _total_label(table, total)) for total in table.totals]
        lines.append(_total_line(table, table.sum, _TOTAL, Tone.SUM))
        about = _ABOUT_TOTALS if index == 0 else None
        yield Table(
            sheet=_TOTALS_SHEET,
            headings=headings,
            lines=lines,
            none=_NO_TOTALS,
            title=title,
            about=about,
        )


def _total_line(table: TotalTable, total: Total, label: Value, tone: Tone | None = None) -> Line:
    values: tuple[Value, ...] = (
        label,
        total.rows,
        total.unread_rows,
        total.found_rows,
        total.rows_difference,
    )
    if table.amount is not None:
        values += (total.amount, total.unread, total.found, total.difference)
    return Line(values, tone or (Tone.PLAIN if total.agrees else Tone.OPEN))


def _total_label(table: TotalTable, total: Total) -> Value:
    if total.label is None:
        return _EMPTY
    if table.by_month:
        return f"{total.label[5:7]}/{total.label[:4]}"
    return typed_value(table.kind, total.label)


_PROOF_TITLE = Text(pt="Prova de fechamento · {batch}", en="Closing proof · {batch}")


_ROW_COUNTS = Text(
    pt="lidas {read} · aceitas {accepted} · sem alteração {unchanged} · retidas {held} · "
    "rejeitadas {rejected} · desfeitas {undone} · não enviadas {unsent} · sem resultado {unknown}",
    en="read {read} · accepted {accepted} · unchanged {unchanged} · held {held} · "
    "rejected {rejected} · undone {undone} · not sent {unsent} · unknown {unknown}",
)
_READ_BACK_COUNTS = Text(
    pt="iguais {same} · com diferença {differs} · ausentes {missing} · mais de uma vez {doubled} · "
    "sem leitura possível {unread}",
    en="the same {same} · different {differs} · missing {missing} · more than once {doubled} · "
    "cannot be read back {unread}",
)


def proof_title(proof: Proof) -> Text:
    """Return the heading of a proof."""
    return _PROOF_TITLE.format(batch=proof.title.batch)


def proof_facts(proof: Proof) -> Iterator[tuple[Text, Text | str]]:
    """Yield the facts of a proof: counts, environment, time, plan and parameters."""
    counts = {name: grouped_number(count) for name, count in asdict(proof.counts).items()}
    yield Text(pt="Linhas", en="Rows"), _ROW_COUNTS.format(**counts)
    yield Text(pt="Lidas de volta", en="Read back"), _READ_BACK_COUNTS.format(**counts)
    yield Text(pt="Ambiente", en="Environment"), proof.profile
    yield Text(pt="Sistema", en="System"), proof.base_url
    yield Text(pt="Conferido em", en="Proven at"), f"{proof.at:%d/%m/%Y %H:%M:%S}"
    yield Text(pt="Plano", en="Plan"), str(proof.title.plan)
    yield Text(pt="SHA-256 do plano", en="SHA-256 of the plan"), proof.title.plan_sha256
    for name, value in proof.title.parameters.items():
        yield Text(pt="Parâmetro {name}", en="Parameter {name}").format(name=name), value
    yield Text(pt="Feita com", en="Made with"), f"xlbridge {__version__}"


def proof_tables(proof: Proof) -> Iterator[Table]:
    """Yield the tables; those of the same sheet are adjacent."""
    yield _step_table(proof)
    yield from _total_tables(proof)
    yield difference_table(proof)
    yield open_row_table(proof)
    yield refused_table(proof)
    yield _unread_table(proof)
    yield _field_table(proof)
    yield export_table(proof)
    yield file_table(proof)
    yield job_table(proof)
