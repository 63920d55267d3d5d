"""Small workbooks for tests."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import xlsxwriter
from openpyxl import load_workbook

GOOD: Mapping[str, Mapping[str, Any]] = {
    "cliente": {"nomeComercial": "Padaria Estrela", "natureza": "J", "cnpj": "11.222.333/0001-81"},
    "contasreceber": {
        "codigoDaFilial": 1,
        "codigoDoCliente": 1001,
        "codigoDoItemDeLancamento": "1.01.001",
        "codigoDoCentroDeCusto": "01.001",
        "codigoDaContaCorrente": 1,
        "historico": "Mensalidade",
        "dataDeEmissao": date(2026, 10, 1),
        "dataDeVencimento": date(2026, 10, 31),
        "valorDoLancamento": 10.5,
    },
    "contaspagar": {
        "codigoDaFilial": 1,
        "codigoDoFornecedor": 501,
        "codigoDoItemDeLancamento": "2.01.001",
        "codigoDoCentroDeCusto": "01.001",
        "codigoDaContaCorrente": 1,
        "historico": "Energia",
        "valorDoLancamento": 95.0,
        "ValorBruto": 100.0,
    },
    "nota-fiscal-servico": {
        "codigoDaFilial": 1,
        "codigoDoCliente": 1001,
        "codigoDoServicoPrestado": "14.01",
        "valorDoServico": 1500.0,
    },
    "enderecamento-de-produto": {
        "codigoDaFilial": 1,
        "codigoDoAlmoxarifado": 1,
        "codigoDaSecao": "A-01",
        "idProd": 2001,
        "ativo": True,
    },
    "tipo-de-produto": {"descricaoDoTipoDeProduto": "Matéria-prima"},
    "tipocliente": {"descricaoDoTipoDeCliente": "Atacadista"},
    "categoriacliente": {"descricaoDaCategoriaDeCliente": "Ouro"},
    "centrodecusto": {
        "codigoDoCentroDeCusto": "03.001",
        "descricaoDoCentroDeCusto": "Marketing",
    },
    "clientecontato": {"codigoDoCliente": 1001, "nome": "Maria Aparecida"},
    "produto": {"descricaoDoProduto": "Parafuso", "codigoInterno": "PAR-1", "valorUnitario": 0.25},
    "saida": {"codigoDaFilial": 1, "quantidade": 2.5, "documento": "OS-1"},
    "entrada": {"codigoDaFilial": 1, "dataDaEntrada": date(2026, 10, 1), "quantidade": 2.5},
    "planejamento": {
        "codigoDaFilial": 1,
        "codigoDoCentroDeCusto": "01.001",
        "codigoDoItemDeLancamento": "2.01.001",
        "ano": 2027,
        "mes": 1,
        "valorLimite": 1500.0,
    },
    "previsao": {
        "codigoDaFilial": 1,
        "codigoDoCliente": 1001,
        "codigoDoServicoPrestado": "14.01",
        "valorDoServico": 1500.0,
        "dataDeInicio": date(2026, 11, 1),
        "dataDeTermino": date(2027, 10, 31),
        "mesesEntreEmissoes": 1,
        "percentualDeReajuste": 4.5,
        "emissaoAutomatica": False,
    },
    "inventario": {
        "codigoDaFilial": 1,
        "codigoDoAlmoxarifado": 1,
        "carregarBaseDeProdutos": True,
    },
}
"""A valid row of each resource."""

INSTRUCTIONS_SHEET, INSTRUCTIONS_SHEET_PT = "Instructions", "Instruções"
LISTS_SHEET = "Listas"
SUMMARY_SHEET = "xlbridge"
"""Names of sheets without data."""

TEMPLATE_PROPERTY = "xlbridge-template"
"""Document property with the purpose of a workbook."""

ERROR_FILL, WARNING_FILL = "FFC7CE", "FFEB9C"
"""Colours of cells with findings."""


class Formula(str):
    """A formula without a stored result."""


class ErrorCell(str):
    """A cell with an error such as #N/A."""


class Percent(float):
    """A number formatted as a percentage."""


class Dollars(float):
    """A number formatted as US dollars."""


class Padded(int):
    """A number formatted with leading zeros."""


def write_rows(
    path: Path,
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    sheet: str = "Plan1",
    at: tuple[int, int] = (0, 0),
    title: str | None = None,
) -> Path:
    """Write a header and rows; ``at`` is the zero-based position of the header's first cell."""
    with xlsxwriter.Workbook(path) as book:
        write_page(book, sheet, header, rows, at=at, title=title)
    return path


def write_page(
    book: xlsxwriter.Workbook,
    sheet: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    at: tuple[int, int] = (0, 0),
    title: str | None = None,
) -> None:
    """Write a header and rows into a new sheet of a workbook."""
    page = book.add_worksheet(sheet)
    formats = {
        date: book.add_format({"num_format": "dd/mm/yyyy"}),
        datetime: book.add_format({"num_format": "dd/mm/yyyy hh:mm"}),
        time: book.add_format({"num_format": "hh:mm"}),
        Percent: book.add_format({"num_format": "0.0%"}),
        Padded: book.add_format({"num_format": "00000"}),
        Dollars: book.add_format({"num_format": "[$US$-409] #,##0.00"}),
    }
    if title:
        page.write_string(0, 0, title)
    top, left = at
    for row, values in enumerate([header, *rows], top):
        for column, value in enumerate(values, left):
            if isinstance(value, ErrorCell):
                page.write_formula(row, column, "=NA()", None, str(value))
            elif isinstance(value, Formula):
                page.write_formula(row, column, str(value), None, "")
            elif isinstance(value, Percent | Padded | Dollars):
                page.write_number(row, column, value, formats[type(value)])
            elif isinstance(value, date | time):
                page.write_datetime(row, column, value, formats[type(value)])
            elif isinstance(value, str):
                page.write_string(row, column, value)
            elif value is not None:
                page.write(row, column, value)


def write_records(path: Path, resource: str, changes: Sequence[Mapping[str, Any]]) -> Path:
    """Write a valid row of a resource for each of ``changes``, updated with its values."""
    return write_rows(path, *records(resource, changes))


def write_clients(path: Path, code: str, names: Sequence[str | None]) -> Path:
    """Write clients with the given names, and codes that start with ``code``."""
    changes = [
        {"cnpj": None, "seuCodigo": f"{code}-{number}", "nomeComercial": name}
        for number, name in enumerate(names)
    ]
    return write_records(path, "cliente", changes)


def write_sheets(path: Path, sheets: Mapping[str, tuple[str, Sequence[Mapping[str, Any]]]]) -> Path:
    """Write several sheets by name, each with rows as in ``write_records``."""
    with xlsxwriter.Workbook(path) as book:
        for name, (resource, changes) in sheets.items():
            write_page(book, name, *records(resource, changes))
    return path


def records(
    resource: str, changes: Sequence[Mapping[str, Any]]
) -> tuple[list[str], list[list[Any]]]:
    """Return a header, and a valid row of a resource for each of ``changes``."""
    header = list(dict.fromkeys([*GOOD[resource], *(name for row in changes for name in row)]))
    return header, [[(GOOD[resource] | dict(row)).get(name) for name in header] for row in changes]


def write_workbook(path: Path, **sheets: Sequence[Mapping[str, Any]]) -> Path:
    """Write a workbook with a sheet for each list of rows, and the columns that these have."""
    with xlsxwriter.Workbook(path, {"default_date_format": "dd/mm/yyyy"}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            headers = list(dict.fromkeys(header for row in rows for header in row))
            sheet.write_row(0, 0, headers)
            for number, row in enumerate(rows, start=1):
                sheet.write_row(number, 0, [row.get(header) for header in headers])
    return path


def header_of(sheet: Any) -> list[Any]:
    """Return the first row of a sheet, with the interface's names for the titles that have them in
    their notes."""
    return [_name_in_note(cell) or cell.value for cell in sheet[1]]


def rows_of(sheet: Any) -> list[Sequence[Any]]:
    """Return the values of a sheet, with the header as ``header_of`` returns it."""
    return [header_of(sheet), *sheet.iter_rows(min_row=2, values_only=True)]


def _name_in_note(cell: Any) -> str:
    note = cell.comment.text if cell.comment else ""
    line = str(note).rpartition("\n")[2]
    return line.removeprefix("Nome no sistema: ").removeprefix("Name in the system: ")


def data_sheet(book: Any) -> Any:
    """Return the first sheet with data: neither a summary nor instructions."""
    summaries = {"Resumo do envio", "Upload summary", INSTRUCTIONS_SHEET, INSTRUCTIONS_SHEET_PT}
    return next(sheet for sheet in book.worksheets if sheet.title not in summaries)


def edit(path: Path, column: str, row: int, value: object) -> Path:
    """Change one cell of the first sheet with data, and save."""
    book = load_workbook(path)
    sheet = data_sheet(book)
    sheet.cell(row, header_of(sheet).index(column) + 1).value = value
    book.save(path)
    return path


def column_of(path: Path, name: str) -> list[Any]:
    """Return the values of a column of the first sheet with data."""
    header, *rows = rows_of(data_sheet(load_workbook(path)))
    return [row[header.index(name)] for row in rows]
