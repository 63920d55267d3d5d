"""Report of a proof: its facts, row counts, control totals and rows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, astuple, fields
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path

from xlbridge import titles
from xlbridge.batch.batch import RowCounts
from xlbridge.batch.proof_model import (
    OpenReason,
    Proof,
    ProofState,
    RowLocation,
    Total,
    TotalTable,
    open_items,
    proof_state,
    total_counts,
    verdict,
)
from xlbridge.batch.proof_source_tables import (
    STEP,
    export_table,
    file_table,
    job_table,
    source_table,
)
from xlbridge.i18n import Text, joined, untranslated
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
    more_text,
    value_text,
)
from xlbridge.report_forms.totals import Unit
from xlbridge.resources import Kind
from xlbridge.titles import row_text
from xlbridge.upload.requests import RowOutcome
from xlbridge.workbook import WorkbookMark
from xlbridge.workbook.write import write_report

_WORKBOOK = Heading(titles.WORKBOOK, 34)
_SHEET = Heading(titles.SHEET, 16)
_LOCATION = (STEP, _WORKBOOK, _SHEET)
_ROW = Heading(titles.ROW, 8)
_CELL = Heading(titles.CELL, 9)
_COLUMN = Heading(titles.COLUMN, 22)
_CODE = Heading(Text(pt="Código no sistema", en="Code in the system"), 24, words=True)
_FIXED_ELSEWHERE = Text(
    pt="{file} (linha {row} de {workbook})", en="{file} (row {row} of {workbook})"
)
_OTHER_SHEET = untranslated("{file} ({workbook})")

OPEN_REASONS = {
    OpenReason.MISSING: Text(pt="não está no sistema", en="not in the system"),
    OpenReason.DOUBLED: Text(pt="mais de uma vez no sistema", en="more than once in the system"),
    OpenReason.WRITTEN: Text(
        pt="rejeitada; está no sistema mesmo assim", en="rejected; in the system nevertheless"
    ),
    OpenReason.UNKNOWN: Text(
        pt="em dúvida; não pode ser procurada", en="in doubt; cannot be looked up"
    ),
}
_UNKNOWN_FOUND = Text(pt="em dúvida; encontrada no sistema", en="in doubt; found in the system")
_UNKNOWN_NOT_FOUND = Text(
    pt="em dúvida; não encontrada no sistema", en="in doubt; not found in the system"
)
_YES_NO = {"True": titles.YES, "False": titles.NO}


def typed_value(kind: Kind, plain: str | None) -> Value:
    """Return a ``comparable_value`` converted to its kind."""
    if plain is None:
        return None
    try:
        if kind is Kind.MONEY:
            return Decimal(plain)
        if kind is Kind.DATE:
            return date.fromisoformat(plain)
    except (InvalidOperation, ValueError):
        return plain
    if kind is Kind.NUMBER:
        return Text(pt=plain.replace(".", ","), en=plain)
    return _YES_NO.get(plain, plain) if kind is Kind.BOOLEAN else plain


def difference_table(proof: Proof) -> Table:
    """Return the cells whose value in the system differs from the one sent."""
    return Table(
        sheet=titles.DIFFERENCES,
        headings=(
            *_LOCATION,
            _CELL,
            _COLUMN,
            Heading(titles.SENT, 24),
            Heading(titles.IN_SYSTEM, 24),
            _CODE,
        ),
        lines=[
            Line(
                (
                    *_location_values(cell.location),
                    cell.cell or row_text(cell.location.row),
                    proof.column_title(cell.location.resource, cell.column),
                    value_text(typed_value(cell.kind, cell.sent)),
                    value_text(typed_value(cell.kind, cell.found)),
                    cell.code,
                ),
            )
            for cell in proof.cells
        ],
        none=Text(pt="Nenhuma célula difere.", en="No cell differs."),
        about=Text(
            pt="Cada valor de uma linha aceita que está diferente no sistema, com o endereço da "
            "célula na planilha enviada. Células vazias não são comparadas.",
            en="Each value of an accepted row that differs in the system, with the address of the "
            "cell in the sheet that was sent. Empty cells are not compared.",
        ),
    )


def open_row_table(proof: Proof) -> Table:
    """Return the rows that are open."""
    lines = []
    for row in proof.rows:
        state = OPEN_REASONS[row.state]
        if row.state is OpenReason.UNKNOWN and row.key:
            state = _UNKNOWN_FOUND if row.codes else _UNKNOWN_NOT_FOUND
        columns = proof.catalogue.named(row.location.resource).by_path
        titled = (
            f"{columns[name].title}: {value_text(typed_value(columns[name].kind, value))}"
            for name, value in row.key.items()
        )
        key = " · ".join(titled) or None
        codes = ", ".join(row.codes) or None
        place = _location_values(row.location)
        lines.append(Line((*place, row_text(row.location.row), state, key, codes)))
    return Table(
        sheet=Text(pt="Linhas em aberto", en="Open rows"),
        headings=(
            *_LOCATION,
            _ROW,
            Heading(titles.STATE, 30),
            Heading(Text(pt="Chave procurada", en="Key looked up"), 40),
            Heading(Text(pt="Códigos no sistema", en="Codes in the system"), 30),
        ),
        lines=lines,
        none=Text(
            pt="Nenhuma linha falta, se repete, está em dúvida ou foi gravada apesar de rejeitada.",
            en="No row is missing, repeated, in doubt, or written although it was rejected.",
        ),
    )


def refused_table(proof: Proof) -> Table:
    """Return the rows that were not written, with the system's answer or the reason of the plan."""
    return Table(
        sheet=Text(pt="Rejeitadas e aguardando você", en="Rejected, and waiting for you"),
        headings=(
            *_LOCATION,
            _ROW,
            _CELL,
            _COLUMN,
            Heading(titles.REASON, 60),
        ),
        lines=[
            Line(
                (
                    *_location_values(row.location),
                    row_text(row.location.row) if row.location.row else None,
                    row.cell,
                    row.column and proof.column_title(row.location.resource, row.column),
                    row.message,
                )
            )
            for row in proof.refused
        ],
        none=Text(
            pt="Nenhuma linha foi rejeitada nem aguarda você.",
            en="No row was rejected or waits for you.",
        ),
        about=Text(
            pt="O motivo de cada linha não gravada: a resposta do sistema ou, se a linha "
            "aguarda você, por que não foi enviada.",
            en="The reason why each row was not written: the system's answer or, if the row waits "
            "for you, why it was not sent.",
        ),
    )


def _location_values(location: RowLocation) -> tuple[Value, ...]:
    """Return the step, the file and the sheet of a row; of a corrected row also the original."""
    name: Value = location.file.name
    if location.file.name != location.workbook.name:
        text = _FIXED_ELSEWHERE if location.row else _OTHER_SHEET
        name = text.format(
            file=name, row=row_text(location.origin), workbook=location.workbook.name
        )
    return location.step, name, location.sheet


_WHOLE_BATCH = Text(pt="Total do lote", en="The whole batch")
_RESOURCE = Heading(titles.RESOURCE, 22)

_WITHOUT_ERROR = Text(pt="Destas, sem rejeição própria", en="Of these, not rejected themselves")
_STEP_HEADINGS = (
    Heading(Text(pt="Etapa e arquivo", en="Step and workbook"), 28),
    _RESOURCE,
    Heading(Text(pt="Lidas", en="Read"), 12),
    *(
        Heading(
            _WITHOUT_ERROR if outcome is RowOutcome.NOT_WRITTEN else outcome.count_title,
            12,
            alarming=outcome not in (RowOutcome.ACCEPTED, RowOutcome.UNCHANGED),
        )
        for outcome in map(RowOutcome, (field.name for field in fields(RowCounts)[1:]))
    ),
    Heading(Text(pt="Conferidas no sistema: iguais", en="Read back: the same"), 12),
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
            name = file.file.path.name
            resources = joined((proof.catalogue.named(one).title for one in file.resources), ", ")
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
            pt="Lidas = aceitas + sem alteração + aguardando você + rejeitadas + desfeitas + não "
            "enviadas + em dúvida. Aceitas e sem alteração = iguais + com diferença + ausentes "
            "+ mais de uma vez + sem conferência possível. Linhas que não são registros não são "
            "contadas.",
            en="Read = accepted + unchanged + waiting for you + rejected + undone + not sent + in "
            "doubt. Accepted and unchanged = the same + different + missing + more than once + "
            "cannot be read back. Rows that are not records are not counted.",
        ),
    )


def _unread_table(proof: Proof) -> Table:
    """Return the counts of accepted rows that cannot be read back, by reason."""
    return Table(
        sheet=_READ_BACK_SHEET,
        title=Text(pt="Linhas sem conferência possível", en="Rows that cannot be read back"),
        headings=(
            _RESOURCE,
            Heading(titles.ROWS, 10),
            Heading(titles.REASON, 60),
        ),
        lines=[
            Line((proof.catalogue.named(one.resource).title, one.rows, one.reason))
            for one in proof.unread
        ],
        none=Text(
            pt="Todas as linhas aceitas foram conferidas no sistema.",
            en="All accepted rows were read back.",
        ),
        about=Text(
            pt="Só a resposta do sistema ao envio prova que estas linhas foram aceitas.",
            en="Only the system's answer to the upload proves that these rows were accepted.",
        ),
    )


_READ_BACK_SHEET = Text(pt="Conferência no sistema", en="Read-back")


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
                    proof.catalogue.named(one.resource).title,
                    *(
                        joined((proof.column_title(one.resource, name) for name in names), ", ")
                        if names
                        else None
                        for names in (one.compared, one.not_returned)
                    ),
                )
            )
            for one in proof.fields
        ],
        none=Text(pt="Nada foi conferido no sistema.", en="Nothing was read back."),
    )


_TOTALS_SHEET = Text(pt="Totais de controle", en="Control totals")
_NO_TOTALS = Text(pt="Nenhuma linha aceita.", en="No row was accepted.")
_ACCEPTED_ROWS = Heading(Text(pt="Linhas aceitas", en="Rows accepted"), 10)
_UNREAD_ROWS = Heading(
    Text(pt="Destas, sem conferência possível", en="Of these, not read back"), 12
)
_FOUND_ROWS = Heading(Text(pt="Registros no sistema", en="Records in the system"), 12)
_ROWS_DIFFERENCE = Heading(
    Text(pt="Diferença em linhas", en="Difference in rows"), 13, alarming=True
)
_SENT = Heading(Text(pt="Enviado e aceito (R$)", en="Sent and accepted (R$)"), 16)
_UNREAD = Heading(
    Text(pt="Deste valor, sem conferência possível (R$)", en="Of this, not read back (R$)"), 16
)
_FOUND = Heading(Text(pt="Conferido no sistema (R$)", en="Read back (R$)"), 16)
_DIFFERENCE = Heading(Text(pt="Diferença (R$)", en="Difference (R$)"), 14, alarming=True)
_TOTALS_TITLE = Text(pt="{resource} · {amount} por {by}", en="{resource} · {amount} by {by}")
_COUNT = Text(pt="linhas", en="rows")
_ABOUT_TOTALS = Text(
    pt="Somas exatas ao centavo das linhas aceitas, como enviadas e como estão no sistema; por "
    "dia só onde há diferença. A diferença é o valor que está no sistema menos o valor enviado que "
    "pode ser conferido. Um registro cuja data, cliente ou filial mudou é somado onde está no "
    "sistema.",
    en="Sums of the accepted rows, exact to the cent, as they were sent and as the system has "
    "them; by day only where they differ. The difference is the amount read back minus the amount "
    "sent that can be read back. A record whose date, client or branch has changed is counted "
    "where the system has it.",
)


def _total_tables(proof: Proof) -> Iterator[Table]:
    if not proof.totals:
        yield Table(sheet=_TOTALS_SHEET, lines=(), none=_NO_TOTALS, about=_ABOUT_TOTALS)
    shown = [one for one in proof.totals if one.axis.unit is not Unit.DAY or not one.agrees]
    for index, table in enumerate(shown):
        axis, with_amounts = table.axis, table.amount is not None
        yield Table(
            sheet=_TOTALS_SHEET,
            headings=(
                Heading(axis.heading, 42 if axis.names else 22),
                *(_ACCEPTED_ROWS, _UNREAD_ROWS, _FOUND_ROWS, _ROWS_DIFFERENCE),
                *((_SENT, _UNREAD, _FOUND, _DIFFERENCE) if with_amounts else ()),
            ),
            lines=[
                *(
                    axis.line(one.label, _figures(table, one), is_open=not one.agrees)
                    for one in table.totals
                ),
                Line((titles.TOTAL, *_figures(table, table.sum)), Tone.SUM),
            ],
            none=_NO_TOTALS,
            title=_TOTALS_TITLE.format(
                resource=table.resource, amount=table.amount or _COUNT, by=axis.heading
            ),
            about=_ABOUT_TOTALS if index == 0 else None,
            bars=[_SENT_TOTAL] if with_amounts and axis.unit is not Unit.DAY else (),
        )


def _figures(table: TotalTable, total: Total) -> tuple[Value, ...]:
    rows = total.rows, total.unread_rows, total.found_rows, total.rows_difference
    amounts = total.amount, total.unread, total.found, total.difference
    return rows if table.amount is None else (*rows, *amounts)


_SENT_TOTAL = 5
"""Column of the amount sent."""

_ROW_COUNTS = Text(pt="lidas {read} · {counts}", en="read {read} · {counts}")
_READ_BACK_COUNTS = Text(
    pt="iguais {same} · com diferença {differs} · ausentes {missing} · mais de uma vez {doubled} · "
    "sem conferência possível {unread}",
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


_MOST_PROBLEMS = 10
_MORE = Text(pt="{more}, nos detalhes", en="{more}, in the details")


def proof_content(proof: Proof) -> Report:
    """Return the content of a proof: its verdict, facts and tables."""
    problems = list(open_items(proof))
    if left := problems[_MOST_PROBLEMS:]:
        # The first page has the signatures, too.
        problems[_MOST_PROBLEMS:] = [_MORE.format(more=more_text(len(left)))]
    return Report(
        title=_PROOF_TITLE.format(batch=proof.title.batch),
        verdict=verdict(proof),
        grade=_GRADES[proof_state(proof)],
        problems=problems,
        facts=list(_facts(proof)),
        tables=[
            # Those of the same sheet are adjacent.
            _summary_table(proof),
            _signature_table(),
            *_total_tables(proof),
            _step_table(proof),
            difference_table(proof),
            open_row_table(proof),
            refused_table(proof),
            _unread_table(proof),
            _field_table(proof),
            export_table(proof),
            file_table(proof),
            job_table(proof),
            source_table(proof),
        ],
        complete=_COMPLETE,
    )


def _summary_table(proof: Proof) -> Table:
    """Return what was sent and read back of each resource, in rows and money."""
    lines = []
    unreadable = Counter[str]()
    for unread in proof.unread:
        unreadable[unread.resource] += unread.rows
    # Those with amounts first, which are all that the picture shows.
    for one in sorted(proof.resources, key=lambda one: one.amount is None):
        difference = None
        if one.amount is not None and one.found_amount is not None:
            difference = one.found_amount - one.amount
        agrees = one.found + unreadable[one.resource] == one.accepted and not difference
        values = (one.title, one.accepted, one.found, one.amount, one.found_amount, difference)
        lines.append(Line(values, Tone.PLAIN if agrees else Tone.OPEN))
    return Table(
        sheet=_COVER,
        title=Text(
            pt="O que foi enviado e o que está no sistema",
            en="What was sent, and what the system has",
        ),
        headings=(
            Heading(titles.RESOURCE, 30),
            _ACCEPTED_ROWS,
            Heading(Text(pt="Linhas conferidas no sistema", en="Rows read back"), 12),
            *(_SENT, _FOUND, _DIFFERENCE),
        ),
        lines=lines,
        none=_NO_TOTALS,
        bars=[_SENT_COLUMN] if any(one.amount for one in proof.resources) else (),
        drawn=sum(one.amount is not None for one in proof.resources),
    )


_SENT_COLUMN = 3


def _signature_table() -> Table:
    """Return the lines for the signatures."""
    return Table(
        sheet=_COVER,
        title=Text(pt="Assinaturas", en="Signatures"),
        headings=tuple(
            Heading(title, words=True)
            for title in (
                Text(pt="Papel", en="Role"),
                titles.DATE,
                Text(pt="Nome", en="Name"),
                Text(pt="Assinatura", en="Signature"),
            )
        ),
        lines=[Line((role, None, None, None)) for role in _SIGNING],
        by_hand=(1, 1, 2, 3),
    )


_SIGNING = (
    Text(pt="Preparado por", en="Prepared by"),
    Text(pt="Conferido por", en="Checked by"),
    Text(pt="Aprovado por", en="Approved by"),
)


def _facts(proof: Proof) -> Iterator[tuple[Text, Text | str]]:
    """Yield the facts of a proof: counts, environment, time, plan and parameters."""
    counts = {name: grouped_number(count) for name, count in asdict(proof.counts).items()}
    by_outcome = joined(proof.counts.texts(with_zeros=True, show=grouped_number), " · ")
    yield titles.ROWS, _ROW_COUNTS.format(read=counts["read"], counts=by_outcome)
    yield Text(pt="Conferidas no sistema", en="Read back"), _READ_BACK_COUNTS.format(**counts)
    yield titles.ENVIRONMENT, proof.profile
    yield Text(pt="Conferido em", en="Proven at"), f"{proof.at:%d/%m/%Y %H:%M:%S}"
    yield titles.PLAN, proof.title.plan.name
    for name, value in proof.title.parameters.items():
        if name == "month":
            yield Text(pt="Mês", en="Month"), f"{value[5:]}/{value[:4]}"
        else:
            yield Text(pt="Parâmetro {name}", en="Parameter {name}").format(name=name), value
