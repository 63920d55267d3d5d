"""The control totals as tables."""

from collections.abc import Iterator

from xlbridge.batch.closing.grids import Grid, Heading, Line, Tone, Value
from xlbridge.batch.closing.proof import Proof, Total, TotalTable
from xlbridge.batch.closing.values import month, typed
from xlbridge.i18n import Text

_SHEET = Text(pt="Totais de controle", en="Control totals")
_NONE = Text(pt="Nenhuma linha aceita.", en="No row was accepted.")
_ALL = Text(pt="Total", en="Total")
_EMPTY = Text(pt="(vazio)", en="(empty)")
_ROWS = Heading(Text(pt="Linhas aceitas", en="Rows accepted"), 10)
_UNREAD_ROWS = Heading(Text(pt="Destas, não lidas de volta", en="Of these, not read back"), 12)
_FOUND_ROWS = Heading(Text(pt="Linhas lidas de volta", en="Rows read back"), 10)
_ROWS_APART = Heading(Text(pt="Diferença em linhas", en="Difference in rows"), 10, alarming=True)
_SENT = Heading(Text(pt="Enviado e aceito (R$)", en="Sent and accepted (R$)"), 16)
_UNREAD = Heading(Text(pt="Disto, não lido de volta (R$)", en="Of this, not read back (R$)"), 16)
_FOUND = Heading(Text(pt="Lido de volta (R$)", en="Read back (R$)"), 16)
_APART = Heading(Text(pt="Diferença (R$)", en="Difference (R$)"), 14, alarming=True)
_TITLE = Text(pt="{resource} · {amount} por {by}", en="{resource} · {amount} by {by}")
_COUNT = Text(pt="linhas", en="rows")
_ABOUT = Text(
    pt="Somas exatas ao centavo das linhas aceitas: como foram enviadas, e como o sistema as tem. "
    "A diferença é o que foi lido de volta menos o que foi enviado e pode ser lido. Um registro "
    "cuja data, cliente ou filial mudou conta onde o sistema o tem.",
    en="Sums of the accepted rows, exact to the cent: as they were sent, and as the system has "
    "them. The difference is what was read back less what was sent and can be read. A record "
    "whose date, client or branch has changed counts where the system has it.",
)


def total_grids(proof: Proof) -> Iterator[Grid]:
    """Yield the tables of the control totals."""
    if not proof.totals:
        yield Grid(_SHEET, (_ROWS,), (), _NONE, about=_ABOUT)
    for place, table in enumerate(proof.totals):
        title = _TITLE.format(resource=table.resource, amount=table.amount or _COUNT, by=table.by)
        in_rows = (_ROWS, _UNREAD_ROWS, _FOUND_ROWS, _ROWS_APART)
        in_cents = () if table.amount is None else (_SENT, _UNREAD, _FOUND, _APART)
        headings = (Heading(table.by, 22), *in_rows, *in_cents)
        lines = [_line(table, total, _label(table, total)) for total in table.totals]
        lines.append(_line(table, table.sum, _ALL, Tone.SUM))
        about = _ABOUT if place == 0 else None
        yield Grid(_SHEET, headings, lines, _NONE, title=title, about=about)


def _line(table: TotalTable, total: Total, label: Value, tone: Tone | None = None) -> Line:
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


def _label(table: TotalTable, total: Total) -> Value:
    if total.label is None:
        return _EMPTY
    return month(total.label) if table.by_month else typed(table.kind, total.label)
