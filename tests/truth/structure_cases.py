"""Sheets with more than records: totals, notes, hidden content."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import xlsxwriter
from sheets import GOOD
from truth import Outcome, Outcomes, is_meant, validated

Page = Any
_NAMES = list(GOOD["contasreceber"])
_RECORDS: Sequence[dict[str, Any]] = [
    {**GOOD["contasreceber"], "historico": f"Parcela {n}", "valorDoLancamento": 10.0 * n}
    for n in (1, 2, 3)
]
_CLIENT_NAMES = ["nomeComercial", "natureza", "cnpj", "email"]
_CLIENTS: Sequence[dict[str, Any]] = [
    {"nomeComercial": name, "natureza": "J"} for name in ("Padaria Estrela", "Oficina Sol")
]


@dataclass(frozen=True, slots=True)
class Layout:
    """Sheet being written: its page, names and records, and its top left corner."""

    book: Any
    page: Page
    names: Sequence[str]
    records: Sequence[dict[str, Any]]
    top: int = 0
    left: int = 0

    @property
    def below(self) -> int:
        """First row below the records."""
        return self.top + 1 + len(self.records)

    def column(self, name: str) -> int:
        return self.left + list(self.names).index(name)

    def write(self, row: int, values: dict[str, Any], form: Any = None) -> None:
        day = self.book.add_format({"num_format": "dd/mm/yyyy"})
        for name, value in values.items():
            if isinstance(value, date):
                self.page.write_datetime(row, self.column(name), value, day)
            else:
                self.page.write(row, self.column(name), value, form)

    def write_all(self, skip: Sequence[int] = ()) -> None:
        self.page.write_row(self.top, self.left, self.names)
        row = self.top + 1
        for record in self.records:
            while row in skip:
                row += 1
            self.write(row, record)
            row += 1


Build = Callable[[Layout], None]


@dataclass(frozen=True, slots=True)
class StructureCase:
    """Sheet with the records of its layout; ``build`` writes them and further content."""

    name: str
    build: Build
    clients: bool = False
    corner: tuple[int, int] = (0, 0)
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"structure: {self.name}"

    def outcome(self, path: Path) -> Outcome:
        names = _CLIENT_NAMES if self.clients else _NAMES
        records = _CLIENTS if self.clients else _RECORDS
        with xlsxwriter.Workbook(path, self.options) as book:
            self.build(Layout(book, book.add_worksheet("Plan1"), names, records, *self.corner))
        sheet = validated(path)
        if sheet is None:
            return Outcome.REPORTED
        rows = sheet.frame.to_dict("records")
        same = len(rows) == len(records) and all(
            is_meant(row.get(name), record[name])
            for row, record in zip(rows, records, strict=True)
            for name in record
        )
        if same and not sheet.errors:
            return Outcome.RIGHT
        return Outcome.REPORTED if sheet.findings else Outcome.SILENT


def structure_cases() -> Sequence[StructureCase]:
    """Return all cases."""
    return [*_totals(), *_hidden_content(), *_layouts()]


def evaluate_structures(folder: Path, every: int) -> Outcomes:
    return {
        str(case): case.outcome(folder / f"{number}.xlsx")
        for number, case in enumerate(structure_cases()[::every])
    }


def _totals() -> Iterator[StructureCase]:
    words = (
        "TOTAL", "Total", "Total geral", "Totais", "Soma", "Média", "Contagem", "Subtotal",
        "TOTAL DE CLIENTES: 2", "Qtde", "Máximo", "Total:", "SUBTOTAL SP", "Soma de Valor",
    )  # fmt: skip
    for word in words:
        yield StructureCase(
            f"a client row {word}", _row_below({"nomeComercial": word}), clients=True
        )
        total = {"historico": word, "valorDoLancamento": 60.0}
        yield StructureCase(f"a title row {word}", _row_below(total))
    full = {**_RECORDS[0], "historico": "TOTAL", "valorDoLancamento": 60.0}
    yield StructureCase("a total with all cells filled", _row_below(full))
    yield StructureCase("a sum without a word", _row_below({"valorDoLancamento": 60.0}))
    yield StructureCase("a sum two rows below", _row_below({"valorDoLancamento": 60.0}, gap=1))
    notes = (
        "Elaborado por: Ana",
        "Obs.: valores sujeitos a alteração",
        "* a confirmar",
        "Página 1 de 2",
    )
    for note in notes:
        yield StructureCase(
            f"the note {note}", _row_below({"nomeComercial": note}, gap=1), clients=True
        )
        yield StructureCase(
            f"in the first column: {note}", _row_below({"codigoDaFilial": note}, gap=1)
        )
    titles = (
        "Vendedor: 3 - João", "Fim do relatório", "Registros: 7", "Grupo: Varejo", "São Paulo",
        "Filial 01 - Matriz", "7 registros listados", "Carteira do João", "T O T A L  G E R A L",
    )  # fmt: skip
    for title in titles:
        yield StructureCase(f"the title {title}", _row_between({"historico": title}))
    for word in ("Total recebido", "SALDO ATUAL", "T O T A L  G E R A L ---->", "Tot. do dia"):
        for name in ("historico", "codigoDaFilial", "dataDeVencimento"):
            total = {name: word, "valorDoLancamento": 60.0}
            yield StructureCase(f"{word} in {name}", _row_below(total))
        complete = {**_RECORDS[0], "historico": word, "valorDoLancamento": 60.0}
        yield StructureCase(f"{word}, complete", _row_below(complete))
    yield StructureCase("a table with a row of totals", _with_totals_row)
    yield StructureCase("a row of totals of clients", _with_totals_row, clients=True)
    yield StructureCase("a row of column numbers", _below_header(range(1, 20)))
    yield StructureCase("a row of types", _below_header(["texto"] * 20))
    yield StructureCase("a row of obligations", _below_header(["obrigatório"] * 20), clients=True)
    yield StructureCase("the header once more", _header_again)
    yield StructureCase("the header once more, of clients", _header_again, clients=True)
    yield StructureCase("a line of dashes", _row_below({"nomeComercial": "-----"}), clients=True)


def _row_below(values: dict[str, Any], gap: int = 0) -> Build:
    def build(layout: Layout) -> None:
        layout.write_all()
        layout.write(layout.below + gap, values)

    return build


def _row_between(values: dict[str, Any]) -> Build:
    def build(layout: Layout) -> None:
        between = layout.top + 2
        layout.write_all(skip=[between])
        layout.write(between, values)

    return build


def _with_totals_row(layout: Layout) -> None:
    layout.write_all()
    columns = [{"header": name} for name in layout.names]
    columns[0]["total_string"] = "Carteira"
    last = len(layout.names) - 1
    layout.page.add_table(
        layout.top, layout.left, layout.below, last, {"columns": columns, "total_row": True}
    )
    layout.write_all()
    if "valorDoLancamento" in layout.names:
        layout.write(layout.below, {"valorDoLancamento": 60.0})


def _below_header(values: Any) -> Build:
    def build(layout: Layout) -> None:
        layout.write_all(skip=[layout.top + 1])
        layout.page.write_row(layout.top + 1, layout.left, list(values)[: len(layout.names)])

    return build


def _header_again(layout: Layout) -> None:
    layout.write_all()
    layout.page.write_row(layout.below, layout.left, layout.names)


def _hidden_content() -> Iterator[StructureCase]:
    extra = {**_RECORDS[0], "historico": "Parcela 4"}
    for name, options in (
        ("hidden", {"hidden": True}),
        ("collapsed", {"hidden": True, "level": 1}),
    ):
        yield StructureCase(f"a {name} row", _extra_row(extra, None, options))
    yield StructureCase("a row of no height", _extra_row(extra, 0, {}))
    yield StructureCase("a row of a hair's height", _extra_row(extra, 0.5, {}))
    yield StructureCase("a struck-through row", _struck(extra))
    yield StructureCase("a struck-through amount", _struck({"valorDoLancamento": 5.0}, extra))
    yield StructureCase("a struck-through rich text", _struck_rich(extra))
    yield StructureCase("a row that a filter hides", _filtered(extra))
    for name, width, options in (
        ("hidden", None, {"hidden": True}),
        ("no width", 0, {}),
        ("collapsed", None, {"hidden": True, "level": 1}),
    ):
        yield StructureCase(f"a column of {name}", _extra_column(width, options))
    yield StructureCase("a hidden sheet with records", _other_sheet(hidden=True))
    yield StructureCase("another sheet with records", _other_sheet(hidden=False))


def _extra_row(values: dict[str, Any], height: float | None, options: dict[str, Any]) -> Build:
    def build(layout: Layout) -> None:
        layout.write_all()
        layout.write(layout.below, values)
        layout.page.set_row(layout.below, height, None, options)

    return build


def _struck(values: dict[str, Any], other_cells: dict[str, Any] = {}) -> Build:  # noqa: B006
    def build(layout: Layout) -> None:
        layout.write_all()
        layout.write(layout.below, other_cells)
        layout.write(layout.below, values, layout.book.add_format({"font_strikeout": True}))

    return build


def _struck_rich(values: dict[str, Any]) -> Build:
    def build(layout: Layout) -> None:
        layout.write_all()
        layout.write(layout.below, values)
        struck = layout.book.add_format({"font_strikeout": True})
        column = layout.column("historico")
        layout.page.write_rich_string(layout.below, column, struck, "Par", struck, "cela 4")

    return build


def _filtered(values: dict[str, Any]) -> Build:
    def build(layout: Layout) -> None:
        _extra_row(values, None, {"hidden": True})(layout)
        layout.page.autofilter(layout.top, 0, layout.below, len(layout.names) - 1)
        layout.page.filter_column(layout.column("historico"), 'x != "Parcela 4"')

    return build


def _extra_column(width: float | None, options: dict[str, Any]) -> Build:
    def build(layout: Layout) -> None:
        layout.write_all()
        column = len(layout.names)
        layout.page.write(layout.top, column, "numeroDoDocumento")
        for number in range(len(layout.records)):
            layout.page.write(layout.top + 1 + number, column, f"NF-{number}")
        layout.page.set_column(column, column, width, None, options)

    return build


def _other_sheet(*, hidden: bool) -> Build:
    def build(layout: Layout) -> None:
        layout.write_all()
        other = layout.book.add_worksheet("Plan2")
        Layout(layout.book, other, layout.names, layout.records).write_all()
        if hidden:
            other.hide()

    return build


def _layouts() -> Iterator[StructureCase]:
    yield StructureCase("nothing odd", Layout.write_all)
    yield StructureCase("nothing odd, of clients", Layout.write_all, clients=True)
    yield StructureCase("far from the corner", Layout.write_all, corner=(6, 3))
    yield StructureCase("blank rows between", lambda layout: layout.write_all(skip=[2, 3]))
    yield StructureCase("dates from 1904", Layout.write_all, options={"date_1904": True})
    titled = "Contas a receber de outubro"
    yield StructureCase("a title above", _title_above(titled), corner=(3, 0))
    for old, new in (
        ("valorDoLancamento", "Valor do lançamento (R$)"),
        ("valorDoLancamento", "Valor do lançamento:"),
        ("historico", "Historico *"), ("historico", "HISTÓRICO"),
        ("dataDeVencimento", "Data de vencimento "),
    ):  # fmt: skip
        yield StructureCase(f"the header {new}", _renamed(old, new))
    for old, new in (
        ("valorDoLancamento", "valorDoLancamentoo"), ("dataDeVencimento", "Vencimento"),
        ("dataDeEmissao", "Data"), ("valorDoLancamento", "Valor"), ("historico", "Obs"),
    ):  # fmt: skip
        yield StructureCase(f"the header {new}", _renamed(old, new))
    yield StructureCase("a header twice", _renamed("dataDeEmissao", "dataDeVencimento"))
    yield StructureCase("a column without a header", _renamed("dataDeEmissao", ""))
    yield StructureCase("merged cells", _merged)
    yield StructureCase("a header of two rows", _two_row_header, corner=(1, 0))
    yield StructureCase("two tables side by side", _side_by_side)
    yield StructureCase("two tables one below the other", _second_table)
    yield StructureCase("text in a cell without a header", _stray)


def _title_above(text: str) -> Build:
    def build(layout: Layout) -> None:
        layout.page.write(0, 0, text)
        layout.write_all()

    return build


def _renamed(old: str, new: str) -> Build:
    def build(layout: Layout) -> None:
        layout.write_all()
        layout.page.write_string(layout.top, layout.column(old), new)

    return build


def _merged(layout: Layout) -> None:
    layout.write_all()
    column = layout.column("historico")
    layout.page.merge_range(layout.top + 1, column, layout.top + 2, column, "Parcela 1")


def _two_row_header(layout: Layout) -> None:
    layout.page.merge_range(0, 0, 0, 3, "Identificação")
    layout.page.merge_range(0, 4, 0, 8, "Valores")
    layout.write_all()


def _side_by_side(layout: Layout) -> None:
    layout.write_all()
    other = Layout(layout.book, layout.page, layout.names, layout.records, 0, len(layout.names) + 1)
    other.write_all()


def _second_table(layout: Layout) -> None:
    layout.write_all()
    layout.page.write_row(layout.below + 2, 0, ["Filial", "Cidade"])
    layout.page.write_row(layout.below + 3, 0, [1, "São Paulo"])


def _stray(layout: Layout) -> None:
    layout.write_all()
    layout.page.write(layout.top + 1, len(layout.names) + 2, "ver com Ana")
