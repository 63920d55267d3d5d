"""Receivable sheets with known bad cells, for benchmarks and accuracy tests."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import xlsxwriter

COLUMNS = (
    "codigoDaFilial",
    "codigoDoCliente",
    "codigoDoItemDeLancamento",
    "codigoDoCentroDeCusto",
    "codigoDaContaCorrente",
    "historico",
    "numeroDoDocumento",
    "dataDeEmissao",
    "dataDeVencimento",
    "valorDoLancamento",
    "codigoDaFormaDePagamento",
    "codigoDaCarteira",
)

_DAMAGE = {
    "codigoDaFilial": (0, "filial 1", 1.5, None),
    "codigoDoCliente": (-4, "12a", 10.25, None),
    "codigoDoItemDeLancamento": ("9" * 31, 1.5, None),
    "codigoDoCentroDeCusto": ("x" * 31, None),
    "codigoDaContaCorrente": (0, "um", None),
    "historico": ("h" * 501, None),
    "numeroDoDocumento": ("d" * 61, 1e15),
    "dataDeEmissao": ("31/02/2026", "ontem", 46000),
    "dataDeVencimento": ("2026-13-01", 3, "31/12/26"),
    "valorDoLancamento": (-1, 0, 10.555, "dez"),
    "codigoDaFormaDePagamento": ("pix", 0.5, -1),
    "codigoDaCarteira": ("a", 0, 2.5),
}


@dataclass(frozen=True, slots=True)
class BadSheet:
    """A written sheet: its file and its bad cells."""

    path: Path
    bad_cells: frozenset[str]


def write_sheet(
    path: Path, rows: int, bad_share: float, seed: int = 7, *, shared_texts: bool = False
) -> BadSheet:
    """Write ``rows`` receivables with about ``bad_share`` of the cells damaged.

    Only one of a row's two dates is damaged, so a wrong due date causes a single finding. Texts are
    inline, or with ``shared_texts`` in the shared string table, as Excel writes them.
    """
    rng = random.Random(seed)
    bad: set[str] = set()
    with xlsxwriter.Workbook(path, {"constant_memory": not shared_texts}) as book:
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        sheet = book.add_worksheet("Plan1")
        sheet.write_row(0, 0, COLUMNS)
        for row in range(1, rows + 1):
            for column, value in enumerate(_good_row(rng, row)):
                name = COLUMNS[column]
                if rng.random() < bad_share:
                    value = rng.choice(_DAMAGE[name])
                    bad.add(f"{chr(ord('A') + column)}{row + 1}")
                if isinstance(value, datetime):
                    sheet.write_datetime(row, column, value, day)
                elif value is not None:
                    sheet.write(row, column, value)
    return BadSheet(path, frozenset(bad))


def _good_row(rng: random.Random, number: int) -> tuple[object, ...]:
    issued = datetime(2026, 1, 1) + timedelta(days=rng.randrange(300))
    return (
        rng.randrange(1, 4),
        rng.randrange(1, 1300),
        f"1.01.{rng.randrange(1, 40):03}",
        f"{rng.randrange(1, 20):02}.001",
        rng.randrange(1, 5),
        f"Mensalidade {rng.randrange(1, 13):02}/2026 contrato {rng.randrange(10_000)}",
        f"NF-{number:06}",
        issued,
        issued + timedelta(days=30),
        round(rng.uniform(10, 9_000), 2),
        rng.randrange(1, 6),
        rng.randrange(1, 4),
    )
