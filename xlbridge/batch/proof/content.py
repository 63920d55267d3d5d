"""Report of a proof: its facts, row counts, control totals, and the order of its tables."""

from collections.abc import Iterator
from dataclasses import asdict, astuple
from pathlib import Path

from xlbridge import __version__, titles
from xlbridge.batch.proof.detail_tables import (
    difference_table,
    export_table,
    file_table,
    job_table,
    open_row_table,
    refused_table,
    typed_value,
)
from xlbridge.batch.proof.model import Proof, Total, TotalTable, total_counts
from xlbridge.batch.proof.verdict import (
    ProofState,
    open_items,
    proof_state,
    resource_lines,
    verdict,
)
from xlbridge.i18n import Text
from xlbridge.report_forms import (
    Grade,
    Heading,
    Line,
    Report,
    ReportForms,
    Table,
    Tone,
    Value,
    grouped_number,
)
from xlbridge.upload.results import RowOutcome
from xlbridge.workbook import WorkbookMark
from xlbridge.workbook.write import write_report

_WHOLE_BATCH = Text(pt="Total do lote", en="The whole batch")
_RESOURCE = Heading(titles.RESOURCE, 22)

_STEP_HEADINGS = (
    Heading(Text(pt="Etapa e arquivo", en="Step and workbook"), 28),
    _RESOURCE,
    Heading(Text(pt="Lidas", en="Read"), 12),
    Heading(RowOutcome.ACCEPTED.count_title, 12),
    Heading(RowOutcome.UNCHANGED.count_title, 12),
    Heading(RowOutcome.HELD.count_title, 12, alarming=True),
    Heading(RowOutcome.REJECTED.count_title, 12, alarming=True),
    Heading(
        Text(pt="Destas, sem rejeição própria", en="Of these, not rejected themselves"),
        12,
        alarming=True,
    ),
    Heading(RowOutcome.UNDONE.count_title, 12, alarming=True),
    Heading(RowOutcome.UNSENT.count_title, 12, alarming=True),
    Heading(RowOutcome.UNKNOWN.count_title, 12, alarming=True),
    Heading(Text(pt="Lidas de volta: iguais", en="Read back: the same"), 12),
    Heading(Text(pt="Com diferença", en="Different"), 12, alarming=True),
    Heading(Text(pt="Ausentes", en="Missing"), 12, alarming=True),
    Heading(Text(pt="Mais de uma vez", en="More than once"), 12, alarming=True),
    Heading(Text(pt="Sem leitura possível", en="Cannot be read back"), 12),
    Heading(titles.NOTE, 28, words=True),
)
"""Headings of name, resource, the fields of ``ProofCounts`` in order, and note."""


def _step_table(proof: Proof) -> Table:
    lines = []
    for step, files in proof.steps.items():
        lines.append(Line((step, None, *astuple(total_counts(files)), None), Tone.HEAD))
        for file in files:
            name, resources = file.file.path.name, ", ".join(file.resources) or None
            reason = file.file.not_sent_because
            lines.append(Line((name, resources, *astuple(file.counts), reason)))
    if proof.steps:
        lines.append(Line((_WHOLE_BATCH, None, *astuple(proof.counts), None), Tone.SUM))
    return Table(
        sheet=titles.STEPS,
        headings=_STEP_HEADINGS,
        lines=lines,
        none=Text(pt="O lote não tem envios.", en="The batch has no uploads."),
        about=Text(
            pt="Lidas = aceitas + sem alteração + retidas + rejeitadas + desfeitas + não "
            "enviadas + em dúvida. Aceitas e sem alteração = iguais + com diferença + ausentes "
            "+ mais de uma vez + sem leitura possível. Linhas que não são registros não são "
            "contadas.",
            en="Read = accepted + unchanged + held + rejected + undone + not sent + in doubt. "
            "Accepted and unchanged = the same + different + missing + more than once + cannot be "
            "read back. Rows that are not records are not counted.",
        ),
    )


def _unread_table(proof: Proof) -> Table:
    """Return the counts of accepted rows that cannot be read back, by reason."""
    return Table(
        sheet=_READ_BACK_SHEET,
        title=Text(pt="Linhas sem leitura possível", en="Rows that cannot be read back"),
        headings=(
            _RESOURCE,
            Heading(titles.ROWS, 10),
            Heading(titles.REASON, 60),
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
        lines = [_total_line(table, total) for total in (*table.totals, table.sum)]
        about = _ABOUT_TOTALS if index == 0 else None
        yield Table(
            sheet=_TOTALS_SHEET,
            headings=headings,
            lines=lines,
            none=_NO_TOTALS,
            title=title,
            about=about,
        )


def _total_line(table: TotalTable, total: Total) -> Line:
    label: Value
    if total is table.sum:
        label, tone = titles.TOTAL, Tone.SUM
    else:
        tone = Tone.PLAIN if total.agrees else Tone.OPEN
        if total.label is None:
            label = _EMPTY
        elif table.by_month:
            label = f"{total.label[5:7]}/{total.label[:4]}"
        else:
            label = typed_value(table.kind, total.label)
    values = (label, total.rows, total.unread_rows, total.found_rows, total.rows_difference)
    if table.amount is None:
        return Line(values, tone)
    return Line((*values, total.amount, total.unread, total.found, total.difference), tone)


_ROW_COUNTS = Text(
    pt="lidas {read} · aceitas {accepted} · sem alteração {unchanged} · retidas {held} · "
    "rejeitadas {rejected} · desfeitas {undone} · não enviadas {unsent} · em dúvida {unknown}",
    en="read {read} · accepted {accepted} · unchanged {unchanged} · held {held} · "
    "rejected {rejected} · undone {undone} · not sent {unsent} · in doubt {unknown}",
)
_READ_BACK_COUNTS = Text(
    pt="iguais {same} · com diferença {differs} · ausentes {missing} · mais de uma vez {doubled} · "
    "sem leitura possível {unread}",
    en="the same {same} · different {differs} · missing {missing} · more than once {doubled} · "
    "cannot be read back {unread}",
)


_COVER = Text(pt="Prova", en="Proof")
_PROOF_TITLE = Text(pt="Prova de fechamento · {batch}", en="Closing proof · {batch}")
_COMPLETE = Text(pt="o arquivo da prova", en="the proof's workbook")
_GRADES = {
    ProofState.VERIFIED: Grade.GOOD,
    ProofState.PARTLY_VERIFIED: Grade.WARNING,
    ProofState.OPEN: Grade.ERROR,
}


def proof_report(proof: Proof) -> ReportForms:
    """Return the report of a proof in the active language: a page for browser and paper, and a
    workbook."""

    def workbook(target: Path) -> None:
        signature = (WorkbookMark.PROVEN.text, proof.title.plan_sha256)
        write_report(proof_content(proof), target, cover=_COVER, signature=signature)

    return ReportForms.of_report(lambda: proof_content(proof), workbook=workbook)


def proof_content(proof: Proof) -> Report:
    """Return the content of a proof: its verdict, facts and tables."""
    return Report(
        title=_PROOF_TITLE.format(batch=proof.title.batch),
        verdict=verdict(proof),
        grade=_GRADES[proof_state(proof)],
        remarks=list(resource_lines(proof)),
        problems=list(open_items(proof)),
        facts=list(_facts(proof)),
        tables=[
            # Those of the same sheet are adjacent.
            _step_table(proof),
            *_total_tables(proof),
            difference_table(proof),
            open_row_table(proof),
            refused_table(proof),
            _unread_table(proof),
            _field_table(proof),
            export_table(proof),
            file_table(proof),
            job_table(proof),
        ],
        complete=_COMPLETE,
    )


def _facts(proof: Proof) -> Iterator[tuple[Text, Text | str]]:
    """Yield the facts of a proof: counts, environment, time, plan and parameters."""
    counts = {name: grouped_number(count) for name, count in asdict(proof.counts).items()}
    yield titles.ROWS, _ROW_COUNTS.format(**counts)
    yield Text(pt="Lidas de volta", en="Read back"), _READ_BACK_COUNTS.format(**counts)
    yield titles.ENVIRONMENT, proof.profile
    yield Text(pt="Sistema", en="System"), proof.base_url
    yield Text(pt="Conferido em", en="Proven at"), f"{proof.at:%d/%m/%Y %H:%M:%S}"
    yield titles.PLAN, str(proof.title.plan)
    yield Text(pt="SHA-256 do plano", en="SHA-256 of the plan"), proof.title.plan_sha256
    for name, value in proof.title.parameters.items():
        yield Text(pt="Parâmetro {name}", en="Parameter {name}").format(name=name), value
    yield Text(pt="Feita com", en="Made with"), f"xlbridge {__version__}"
