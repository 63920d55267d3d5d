"""Values of rows, from the form in which they are compared to the one in which they are shown."""

from datetime import date
from decimal import Decimal, InvalidOperation

from xlbridge.batch.closing.grids import Value
from xlbridge.i18n import Text
from xlbridge.resources.column import Kind

_YES_NO = {"True": Text(pt="sim", en="yes"), "False": Text(pt="não", en="no")}


def typed(kind: Kind, plain: str | None) -> Value:
    """Return what ``plain_value`` made of a value of a kind as money or a day where it is one."""
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


def month(plain: str | None) -> str | None:
    """Return the month of an ISO date as people write it."""
    return None if plain is None else f"{plain[5:7]}/{plain[:4]}"


def shown(value: Value) -> str:
    """Return a value as text in the active language; nothing is a dash."""
    match value:
        case None:
            return "–"
        case bool() | str() | Text():
            return str(value)
        case int():
            return str(counted(value))
        case Decimal():
            return str(_grouped(f"{value:,.2f}"))
        case date():
            return value.strftime("%d/%m/%Y")


def counted(number: int) -> Text:
    """Return a count as each language groups its digits."""
    return _grouped(f"{number:,}")


def _grouped(number: str) -> Text:
    return Text(pt=number.translate(str.maketrans(",.", ".,")), en=number)
