"""Documents in the column of the other kind: a CPF among the CNPJs, a CNPJ among the CPFs."""

from collections.abc import Callable, Mapping

import numpy as np

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.checks import bare_document, is_cnpj, is_cpf, masked_cnpj, masked_cpf
from xlbridge.validation.typed_rows import TypedRows

_OTHERS: Mapping[Kind, tuple[Kind, Callable[[str], bool], Callable[[str], str]]] = {
    Kind.CNPJ: (Kind.CPF, is_cpf, masked_cpf),
    Kind.CPF: (Kind.CNPJ, is_cnpj, masked_cnpj),
}
_PLACE = Text(pt="a coluna {column}", en="the column {column}")
_ELSEWHERE = Text(pt="outra coluna", en="another column")


def note_misplaced_documents(
    resource: Resource, places: Mapping[str, int], typed: TypedRows
) -> None:
    """Note the documents in the column of the other kind, by their length and check digits.

    Where the sheet has the other column, given in ``places``, and its cell is empty, the document
    belongs there: the finding tells so as a correction.
    """
    for column in resource.columns:
        if column.kind in _OTHERS:
            others = [c for c in resource.columns if c.kind is _OTHERS[column.kind][0]]
            other = others[0] if len(others) == 1 else None
            _note_misplaced(column, other, other is not None and other.name in places, typed)


def _note_misplaced(column: Column, other: Column | None, is_there: bool, typed: TypedRows) -> None:
    kind, is_valid, masked = _OTHERS[column.kind]
    values, problems = typed.frame[column.name], typed.problems[column.name]
    usual = values.str.fullmatch(f"[0-9A-Z]{{{column.width}}}", na=True)
    odd = ~usual.to_numpy(dtype=bool) & ~problems.failed
    for position in np.flatnonzero(odd).tolist():
        document = bare_document(str(values.iat[position]))
        if not is_valid(document):
            continue
        place = _ELSEWHERE if other is None else _PLACE.format(column=other.name)
        details: dict[str, object] = {"kind": kind.value.upper(), "place": place}
        is_empty = is_there and other is not None and _is_empty(typed, other.name, position)
        if is_empty and other is not None:
            details |= {"moved_to": other.name, "document": masked(document)}
        problems.add(position, "document-misplaced", details, corrected="" if is_empty else None)
        problems.failed[position] = True


def _is_empty(typed: TypedRows, name: str, position: int) -> bool:
    is_missing = typed.frame[name].isna().iat[position]
    return bool(is_missing) and not typed.problems[name].failed[position]
