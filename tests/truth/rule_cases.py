"""Columns with a rule in sheets with lists, dates that another column decides, titles of groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from sheets import write_workbook
from test_titles_and_balances import (
    DOUBTFUL_TITLES,
    HELD_TITLES,
    MOVES,
    TOTAL,
    TOTALS,
    clients,
    statement,
)
from truth import REFUSED, AnyOf, Outcome, Outcomes, outcome_of, validated

from xlbridge.resources import load_catalogue

_ORDER = {"chave": "A", "codigoDaFilial": 1, "codigoDoCliente": 1001}
_PRODUCT = {"chave": "A", "idProduto": 2001, "quantidade": 2, "valorUnitario": 10.5}
_ISSUED, _DUE = "dataDeEmissao", "dataDeVencimento"


@dataclass(frozen=True, slots=True)
class RowsCase:
    """Rows of a resource with lists or several dates, and what a cell of the first one means."""

    name: str
    resource: str
    rows: Sequence[dict[str, Any]]
    column: str
    meant: Any

    def outcome(self, path: Path) -> Outcome:
        lists = {"produtos": [_PRODUCT]} if self.resource == "pedido" else {}
        sheet = validated(
            write_workbook(path, **{self.resource: self.rows}, **lists), resource=self.resource
        )
        return outcome_of(sheet, 2, self.column, self.meant)


def _orders() -> Iterator[RowsCase]:
    cells: dict[str, Sequence[tuple[Any, Any]]] = {
        "cep": [("01310-100", "01310-100"), ("0131010", REFUSED), (1310100, REFUSED),
                ("1310-100", REFUSED), ("00000-000", REFUSED), ("abc", REFUSED)],
        "entregaCEP": [("4538132", REFUSED), ("04538132", "04538132")],
        "uf": [("SP", "SP"), ("EX", "EX"), ("xx", REFUSED), ("sp", AnyOf(("SP",))),
               ("São Paulo", REFUSED)],
        "entregaUF": [("RH", REFUSED)], "transportadoraUF": [("Pr", AnyOf(("PR",)))],
        "codigoDoMunicipio": [("3550308", "3550308"), (3550308, "3550308"), ("355030", REFUSED),
                              ("3550309", REFUSED), ("São Paulo", REFUSED)],
        "entregaCodigoMunicipio": [("9950308", REFUSED)],
        "cnpjcpf": [("11.222.333/0001-81", AnyOf(("11.222.333/0001-81", "11222333000181"))),
                    ("1122233300018", REFUSED), ("529.982.247-26", REFUSED), (191, REFUSED)],
        "transportadoraCNPJ": [("529.982.247-25", REFUSED), ("1122233300018", REFUSED)],
    }  # fmt: skip
    for column, values in cells.items():
        for cell, meant in values:
            yield RowsCase(
                f"{column} {cell!r}", "pedido", [{**_ORDER, column: cell}], column, meant
            )


def _dates() -> Iterator[RowsCase]:
    fifth = date(2026, 11, 5)
    for name, issued, due, meant in (
        ("Brazilian ones", ("25/10/2026", "26/10/2026"), "05/11/2026", fifth),
        ("American ones", ("10/25/2026", "10/26/2026"), "11/05/2026", fifth),
        ("one Brazilian one", ("25/10/2026", "05/10/2026"), "05/11/2026", REFUSED),
        ("both", ("25/10/2026", "10/26/2026"), "05/11/2026", REFUSED),
        ("ISO ones", ("2026-10-25", "2026-10-26"), "05/11/2026", REFUSED),
        ("ambiguous ones", ("05/10/2026", "06/10/2026"), "05/11/2026", REFUSED),
    ):
        rows = [{"codigoDaFilial": 1, _ISSUED: day, _DUE: due, "historico": "x"} for day in issued]
        yield RowsCase(f"a date beside {name}", "contasreceber", rows, _DUE, meant)


def evaluate_rules(folder: Path, every: int) -> Outcomes:
    """Evaluate each ``every``-th case."""
    cases = [*_orders(), *_dates()][::every]
    found = {
        f"rules: {case.name}": case.outcome(folder / f"{number}.xlsx")
        for number, case in enumerate(cases)
    }
    for number, text in enumerate([*HELD_TITLES, *DOUBTFUL_TITLES][::every]):
        sheet = validated(clients(folder / f"title {number}.xlsx", text))
        found[f"rules: the title {text}"] = outcome_of(sheet, 5, "nomeComercial", REFUSED)
    catalogue = load_catalogue()
    for text in TOTALS[::every]:
        sheet = statement(folder, catalogue, *MOVES, (46309, text, "X", TOTAL, TOTAL))
        found[f"rules: the sum {text}"] = outcome_of(sheet, 10, "historico", REFUSED)
    return found
