"""Sheets of other systems changed so that a header or its values mislead, for tests that no wrong
column is proposed with high confidence."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import replace

from header_score import Layout

from xlbridge.resources import Catalogue, Kind

_NOUNS = ("Parcela", "Parc.", "Lançamento", "Nota", "Item", "Nº", "Seq.", "Tipo", "Título", "Conta")
_NOTHING = frozenset[str]()
_TELEPHONES = frozenset({"telefone", "fone", "celular", "tel", "phone", "mobile", "whatsapp"})


def misleading(layout: Layout, catalogue: Catalogue) -> Iterator[Layout]:
    """Yield the layout in misleading forms."""
    kinds = {column.name: column.kind for column in catalogue[layout.resource].columns}
    meant = [header for header in layout.header if layout.expected[header]]
    for header in meant:
        yield _without(layout, header)
        yield _filled(layout, header, [""] * len(layout.rows), "empty")
        found = {kinds[name] for name in layout.expected[header] if name in kinds}
        names = layout.expected[header]
        if found & {Kind.MONEY, Kind.DATE} or names & {"numeroDoDocumento", "historico"}:
            counter = list(range(1, len(layout.rows) + 1))
            yield _filled(layout, header, counter, "counted")
        if not found & {Kind.DATE}:
            dates = [dt.date(2026, 10, 1 + number) for number in range(len(layout.rows))]
            yield _filled(layout, header, dates, "dated")
        if names & {"codigoDaContaCorrente"}:
            yield _filled(layout, header, [341] * len(layout.rows), "banks")
        if names & {"valorDoLancamento", "valorDoServico"}:
            others = [10.5 + number for number in range(len(layout.rows))]
            for name in ("Valor", "Valor total"):
                if name not in layout.header:
                    sheet = _with(layout, name, others)
                    # Each of the two may be meant.
                    yield replace(sheet, expected=sheet.expected | {header: _NOTHING})
    for noun in _NOUNS:
        if noun not in layout.header:
            yield _with(layout, noun, list(range(1, len(layout.rows) + 1)))


def _without(layout: Layout, header: str) -> Layout:
    """Return the layout without a column: no other one takes its place."""
    at = list(layout.header).index(header)
    kept = [name for name in layout.header if name != header]
    rows = [[*row[:at], *row[at + 1 :]] for row in layout.rows]
    what = f"{layout.what}, without {header}"
    return replace(layout, what=what, header=kept, rows=rows, optional=_substitutes(layout, header))


def _substitutes(layout: Layout, header: str) -> dict[str, frozenset[str]]:
    """Return the optional columns of a layout in which a column means nothing: another header with
    a word of its header may supply what it did, except for an amount; one telephone may be used
    in place of another, and a document tells the nature."""
    found = {}
    for name, optional in layout.optional.items():
        extra = set(optional)
        if _words(name) & _words(header):
            extra |= {column for column in layout.expected[header] if "valor" not in column.lower()}
        if _words(name) & _TELEPHONES:
            extra |= {"telefone"} & layout.expected[header]
        if layout.expected[name] & {"cpf", "cnpj"}:
            of_document = layout.expected[header] & {"natureza", "cpf", "cnpj"}
            extra |= {"natureza"} if of_document else set()
        found[name] = frozenset(extra)
    return found | {header: _NOTHING}


def _words(header: str) -> set[str]:
    return set(header.casefold().replace("vencto", "vencimento").replace(".", " ").split())


def _filled(layout: Layout, header: str, values: Sequence[object], how: str) -> Layout:
    """Return the layout with other values in a column, which then means nothing."""
    at = list(layout.header).index(header)
    rows = [
        [*row[:at], value, *row[at + 1 :]] for row, value in zip(layout.rows, values, strict=True)
    ]
    return replace(
        layout,
        what=f"{layout.what}, {header} {how}",
        rows=rows,
        expected=layout.expected | {header: _NOTHING},
        optional=_substitutes(layout, header),
    )


def _with(layout: Layout, header: str, values: Sequence[object]) -> Layout:
    """Return the layout with a column before the others that means nothing for sure."""
    return replace(
        layout,
        what=f"{layout.what}, with {header}",
        header=[header, *layout.header],
        rows=[[value, *row] for value, row in zip(values, layout.rows, strict=True)],
        expected=layout.expected | {header: _NOTHING},
        optional=layout.optional | {header: _NOTHING},
    )
