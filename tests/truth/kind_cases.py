"""Kinds of faults, each with shapes that are written in every format in which it can occur.

The shapes are those of an .xlsx; other files are copies of it. LibreOffice writes .ods and .xls.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import xlsxwriter
import yaml
from libreoffice import save_with_libreoffice
from openpyxl import load_workbook
from sheets import GOOD
from test_shared_rules import ORDER, PRODUCT
from test_titles_and_balances import CLIENT_HEADER, MAPPING
from truth import REFUSED, AnyOf, Formatted, Outcome, Outcomes, outcome_of, validated, write_cell
from xlsb_writer import write_xlsb

from xlbridge.resources import load_catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import migrate
from xlbridge.validation.mapping import read_mapping
from xlbridge.workbook.read import read_workbook

WITH_SHEETS = (".xlsx", ".xlsb", ".xls", ".ods")
EVERY = (*WITH_SHEETS, ".csv")
BY_LIBREOFFICE = frozenset({".xls", ".ods"})

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows of a resource, and what the cell of a column means in the row at ``at``; ``lists`` are
    the rows of its lists, ``of_list`` the one that has the cell, ``mapping`` reads a foreign
    header."""

    name: str
    resource: str
    rows: Rows
    column: str
    meant: Any
    at: int = -1
    lists: Mapping[str, Rows] = field(default_factory=dict)
    of_list: str | None = None
    mapping: str | None = None

    def write(self, path: Path) -> Path:
        with xlsxwriter.Workbook(path) as book:
            day = book.add_format({"num_format": "dd/mm/yyyy"})
            for sheet, rows in ((self.resource, self.rows), *self.lists.items()):
                page = book.add_worksheet(sheet)
                names = list(dict.fromkeys(name for row in rows for name in row))
                page.write_row(0, 0, names)
                for number, row in enumerate(rows, start=1):
                    for column, name in enumerate(names):
                        write_cell(book, page, number, column, row.get(name), day)
        return path

    def outcome(self, path: Path, *, quiet: bool) -> Outcome:
        """Return the outcome of a copy; of a ``quiet`` kind, a right value has no finding."""
        options: dict[str, Any] = {"resource": self.resource}
        if self.mapping is not None:
            mapping = path.with_suffix(".yaml")
            mapping.write_text(self.mapping, "utf-8")
            options = {"mapping": read_mapping(mapping)}
        # In this process: the shapes are safe to parse.
        read = partial(read_workbook, path, WorkbookLimits(), trusted=path.read_bytes())
        sheet = validated(path, workbook=read, **options)
        row = range(2, len(self.rows) + 2)[self.at]
        if sheet is not None and self.of_list is not None:
            sheet = sheet.children[self.of_list]
        outcome = outcome_of(sheet, row, self.column, self.meant)
        if quiet and sheet is not None and any(f.column == self.column for f in sheet.findings):
            return Outcome.REPORTED
        return outcome


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of a fault: what makes its shapes, the formats in which it can occur, whether its shapes
    are ordinary sheets without findings, and whether their data is moved to a new template."""

    shapes: Callable[[], Iterable[Shape]]
    forms: Sequence[str] = EVERY
    quiet: bool = False
    migrated: bool = False


_CR, _NFS, _CP = "contasreceber", "nota-fiscal-servico", "contaspagar"


def _cells(
    resource: str, column: str, cells: Iterable[Any], meant: Any = REFUSED, *, above: int = 2
) -> Iterator[Shape]:
    """Yield a shape for each cell, or cell and its meaning, below good rows."""
    good = [GOOD[resource]] * above
    for cell in cells:
        value, means = cell if isinstance(cell, tuple) else (cell, meant)
        name = f"{value.value} as {value.form}" if isinstance(value, Formatted) else repr(value)
        rows = [*good, {**GOOD[resource], column: value}]
        yield Shape(f"{column} {name}", resource, rows, column, means)


def _columns(resource: str, column: str, *columns: Sequence[tuple[Any, Any]]) -> Iterator[Shape]:
    """Yield a shape for each column of cells and their meanings; the last cell counts."""
    for number, cells in enumerate(columns, start=1):
        rows = [{**GOOD[resource], column: cell} for cell, _ in cells]
        value, meant = cells[-1]
        yield Shape(f"{column} {number}: {value!r}", resource, rows, column, meant)


def _breaks() -> Iterator[Shape]:
    texts = ("Bloco A\n10", "Parcela\t2", "a\n\nb", "Rua A\n\nnº 10", "um\ndois\ntrês", "x\ny")
    return _cells(_CR, "historico", [(text, text) for text in texts])


def _percent_signs() -> Iterator[Shape]:
    forms = ('0.00"%"', '0"%"', '0.0" %"', '0.0000"%"', '#,##0.00"%"', '0.000"%"')
    return _cells(_NFS, "aliquotaISSRetido", [(Formatted(2.0, one), 2.0) for one in forms])


def _order_cells(cells: Mapping[str, Sequence[Any]]) -> Iterator[Shape]:
    lists = {"produtos": [PRODUCT]}
    for column, values in cells.items():
        for value in values:
            rows = [{**ORDER, column: value}]
            yield Shape(f"{column} {value!r}", "pedido", rows, column, REFUSED, lists=lists)


def _postcodes() -> Iterator[Shape]:
    return _order_cells(
        {"cep": ["8020000", 8020000, "08.020-00", "080200000"], "entregaCEP": ["8020-000", "n/d"]}
    )


def _documents() -> Iterator[Shape]:
    return _order_cells(
        {
            "cnpjcpf": ["3300016700010", "33.000.167/0001-02", "111.444.777-36", "0001-91"],
            "transportadoraCNPJ": ["6074694800011", "111.444.777-35"],
        }
    )


def _states() -> Iterator[Shape]:
    return _order_cells(
        {"uf": ["zz", "Rio", "S P"], "entregaUF": ["BRA"], "transportadoraPlacaUF": ["AA", "1"]}
    )


def _municipalities() -> Iterator[Shape]:
    return _order_cells(
        {
            "codigoDoMunicipio": ["3304556", "330455", "Rio de Janeiro", 4106903],
            "entregaCodigoMunicipio": ["5300109", "33045570"],
        }
    )


def _beside_nature() -> Iterator[Shape]:
    for nature, column, text in (
        ("PF", "cpf", "111.444.777-36"), ("Pessoa", "cnpj", "33.000.167/0001-02"),
        ("2", "cnpj", "3300016700010"), ("-", "cpf", "11144477"), ("JURIDICO", "cnpj", "isento"),
    ):  # fmt: skip
        row = {"nomeComercial": "Padaria", "natureza": nature, column: text}
        yield Shape(f"{column} {text} of {nature}", "cliente", [row], column, REFUSED)


def _items() -> Iterator[Shape]:
    main = {"chave": "A", "codigoDaFilial": 1, "codigoDoTipoDeCompra": 1, "codigoDoColaborador": 1}
    items: Rows = (
        {"idProduto": None, "descricaoDoProduto": None}, {"idProduto": 0}, {"idProduto": "0"},
        {"descricaoDoProduto": " "}, {"idProduto": 0, "descricaoDoProduto": "\u00a0"},
    )  # fmt: skip
    for resource in ("requisicao", "ordem"):
        for item in items:
            lists = {"itens": [{"chave": "A", **item, "quantidade": 3}]}
            yield Shape(
                f"{resource} {item}", resource, [main], "descricaoDoProduto", REFUSED,
                lists=lists, of_list="itens",
            )  # fmt: skip


def _splits() -> Iterator[Shape]:
    for parts in ([40, 60], [100], [1.5], [10, 20, 30], [0.01, 0.02]):
        for resource in (_CR, _CP):
            title = {**GOOD[resource], "chave": "A", "valorDoLancamento": None}
            title.pop("ValorBruto", None)
            split = [
                {"chave": "A", "codigoDoCentroDeCusto": "01.001", "valor": part} for part in parts
            ]
            yield Shape(
                f"{resource} {parts}", resource, [title], "valorDoLancamento", REFUSED,
                lists={"rateio": split},
            )  # fmt: skip


def _clients(text: str) -> Rows:
    rows: list[Mapping[str, Any]] = []
    for number in range(1, 10):
        cells = (
            f"Padaria {chr(64 + number)} Ltda", "F", None, f"CLI-{number:04}", 1, 3,
            f"c{number}@example.com", f"(11) 98765-43{number:02}",
        )  # fmt: skip
        rows.append(dict(zip(CLIENT_HEADER, cells, strict=True)))
    return [*rows[:5], {"nomeComercial": text}, *rows[5:]]


def _titles() -> Iterator[Shape]:
    for text in (
        "Representante: 12 - Ana", "Equipe: Sul", "Cidade: Recife", "Carteira 7 - Varejo",
        "CLIENTES INATIVOS", "Zona Leste", "Região 2",
    ):  # fmt: skip
        yield Shape(text, "cliente", _clients(text), "nomeComercial", REFUSED, at=5)


def _footers() -> Iterator[Shape]:
    for text in (
        "Total de pedidos: 18", "Gerado por: sistema", "Listagem de clientes", "Página: 3",
        "Fim da listagem", "12 clientes listados", "Foram encontrados 8 registros",
        "Emissão: 31/10/2026 10:32",
    ):  # fmt: skip
        yield Shape(text, "cliente", _clients(text), "nomeComercial", REFUSED, at=5)


def _statement(*lines: Mapping[str, Any], at: int) -> Iterator[Shape]:
    first = date(2026, 10, 5)
    moves = [
        {
            "Data": first + timedelta(days=day), "Histórico": f"Recebimento {day}",
            "Documento": f"NF-{day:03}", "Valor": 100.5 + day, "Saldo": 100.0 * day,
        }
        for day in range(1, 9)
    ]  # fmt: skip
    total = sum(float(move["Valor"]) for move in moves)
    for line in lines:
        row = {name: total if value == "total" else value for name, value in line.items()}
        rows = [*moves, row] if at else [{**dict.fromkeys(moves[0]), **row}, *moves]
        name = f"{row['Histórico']} {sorted(row)}"
        yield Shape(name, _CR, rows, "historico", REFUSED, at=at, mapping=MAPPING)


def _totals() -> Iterator[Shape]:
    words = (
        "Total de pagamentos", "TOTAL DO DIA 31/10", "T O T A I S ......", "Total a pagar:",
        "SUB-TOTAL:", "Soma do mês", "Total: 8 títulos", "VLR TOTAL", "Recebido no mês",
    )  # fmt: skip
    day = date(2026, 10, 31)
    for word in words:
        complete = {"Data": day, "Histórico": word, "Documento": "X", "Valor": "total"}
        yield from _statement(complete, {"Histórico": word, "Valor": "total"}, at=-1)


def _balances() -> Iterator[Shape]:
    words = (
        "Saldo anterior:", "S A L D O  A N T E R I O R", "SALDO INICIAL DO PERÍODO",
        "Saldo em conta 30/09/2026", "Saldo do mês anterior", "SALDO", "SALDO ANT.",
    )  # fmt: skip
    lines = [{"Histórico": word, "Saldo": 500.0} for word in words]
    return _statement(*lines, *({**line, "Valor": 500.0} for line in lines), at=0)


def _registry_names() -> Iterator[Shape]:
    names = (
        "Média",
        "Total de vidros",
        "Quantidade",
        "Total Flex",
        "Contagem",
        "Soma e Cia",
        "Resumo",
    )
    for name in names:
        rows = [
            {"codigoDoTipoDeCliente": number, "descricaoDoTipoDeCliente": text}
            for number, text in enumerate(("Varejo", "Atacado", name, "Governo"), start=1)
        ]
        yield Shape(name, "tipocliente", rows, "descricaoDoTipoDeCliente", name, at=2)


def _midnights() -> Iterator[Shape]:
    for clock in ("23:59:32", "23:59:17", "23:58:44", "23:59:57", "23:59:05"):
        moments = [datetime.fromisoformat(f"2026-11-{day:02} {clock}") for day in (14, 20, 30)]
        rows = [{**GOOD[_CR], "dataDeVencimento": moment} for moment in moments]
        yield Shape(clock, _CR, rows, "dataDeVencimento", date(2026, 12, 1))


def _dates_of_others() -> Iterator[Shape]:
    for name, issued, due, meant in (
        ("Brazilian", ("13/10/2026", "28/10/2026"), "04/12/2026", date(2026, 12, 4)),
        ("with points", ("13.10.2026", "28.10.2026"), "04/12/2026", date(2026, 12, 4)),
        ("with hyphens", ("13-10-2026", "28-10-2026"), "4/12/2026", date(2026, 12, 4)),
        ("American", ("10/13/2026", "10/28/2026"), "12/04/2026", date(2026, 12, 4)),
        ("with times", ("13/10/2026 08:15", "28/10/2026 09:00"), "04/12/2026", date(2026, 12, 4)),
        ("contradictory", ("13/10/2026", "10/28/2026"), "04/12/2026", REFUSED),
    ):
        rows = [
            {**GOOD[_CR], "dataDeEmissao": day, "dataDeVencimento": due, "historico": f"x{day}"}
            for day in issued
        ]
        yield Shape(name, _CR, rows, "dataDeVencimento", meant)


def _mixtures() -> Iterator[Shape]:
    def texts(*codes: Any) -> list[tuple[Any, str]]:
        return [(code, str(code)) for code in codes]

    yield from _columns(
        _CR, "numeroDoDocumento",
        texts(*(f"{n}/2" for n in range(7100, 7120)), "7130/1", "7131", 7132, "7133/1", 7134),
        texts(*(f"{n}-B" for n in range(40, 70)), "71", "72", "73"),
        texts(*range(900, 930), "S/N", "931-A", 14),
    )  # fmt: skip
    yield from _columns(
        "saida", "numeroDeSerie", texts(*["FGH4321", "BRA4E56"] * 6, "FGH-4321"),
        texts(*["SN998", "A-77", "20260001"] * 4, 20260002),
    )  # fmt: skip
    yield from _columns(
        _CR, "codigoDoCentroDeCusto", texts("3.10", "3.20", "12.00", "3.00"),
        texts("1.1", "1.10", "10.1", "2.00"),
    )  # fmt: skip
    yield from _columns("saida", "documento", texts(12, 340, "12A", "S/N", 98, "7 fundos"))


def _measures() -> Iterator[Shape]:
    cells = [
        (value, AnyOf((str(value), str(value).replace(".", ",")))) for value in (12.5, 0.75, 33.25)
    ]
    yield from _cells("produto", "Altura", cells)
    yield from _cells("produto", "Largura", cells[::-1])


def _reais() -> Iterator[Shape]:
    forms = (
        "[$R$ -416]#,##0.00", "[$R$ -416] #,##0.00", "[$R$-416]0.00", "#,##0.00 [$R$-416]",
        "[$R$ -416]#,##0.00;[Red]-[$R$ -416]#,##0.00", "[$R$\u00a0-416]#,##0.00",
    )  # fmt: skip
    return _cells(_CR, "valorDoLancamento", [(Formatted(1234.5, one), 1234.5) for one in forms])


def _months() -> Iterator[Shape]:
    forms = ("mmm/yy", "mmmm yyyy", "mm/yyyy", "yyyy-mm", "mmm-yy", "mmmm/yyyy")
    meant = date(2026, 11, 1)
    return _cells(_CP, "PeriodoDeCompetencia", [(Formatted(46327, one), meant) for one in forms])


def _exempt() -> Iterator[Shape]:
    forms = (
        '0.00;-0.00;"Isento"', '0.0;0.0;"isento"', '#,##0.00;-#,##0.00;"-"', '0.00;-0.00;"Zero"',
        '0;-0;"ISENTO"',
    )  # fmt: skip
    return _cells(_NFS, "AliquotaCBS", [(Formatted(0.0, one), 0) for one in forms])


def _units() -> Iterator[Shape]:
    forms = (
        '0" un"', '#,##0" kg"', '0 "pçs."', '0" CX"', '0.00" un"', '0" pc"', '0.00 "m²"', '0" m2"',
    )  # fmt: skip
    return _cells("saida", "quantidade", [(Formatted(12.0, one), 12) for one in forms])


def _zeros() -> Iterator[Shape]:
    return _cells(
        _NFS, "AliquotaCBS", [(zero, 0) for zero in (-0.0, "-0", "-0,00", "-0,0", "-0.00")]
    )


def _split_documents() -> Iterator[Shape]:
    mapping = (
        "version: 1\nresource: cliente\nheader: [Razão, Doc]\ncolumns:\n"
        "  nomeComercial: {from: Razão}\n  cnpj: {from: Doc, when: cnpj}\n"
        "  cpf: {from: Doc, when: cpf}\n  natureza: {from: Doc, values: {cnpj: J, cpf: F}}\n"
    )
    firms, people = (
        ("33.000.167/0001-01", "60.746.948/0001-12"),
        ("529.982.247-25", "111.444.777-35"),
    )
    for number, documents in enumerate((
        [*firms, *people, None], [people[0], None, firms[0]], [firms[0], people[0], None, None],
        [*people, firms[1]], [None, people[1], firms[1]],
    )):  # fmt: skip
        rows = [{"Razão": f"Padaria {n}", "Doc": text} for n, text in enumerate(documents)]
        last = documents[-1]
        meant = AnyOf((last, "".join(filter(str.isdigit, last)))) if last in firms else None
        yield Shape(f"{number}: {last}", "cliente", rows, "cnpj", meant, mapping=mapping)


def _lost_letters() -> Iterator[Shape]:
    texts = (
        "Presta??o de servi?os",
        "Jo?o e Jos?",
        "MANUTEN??O",
        "?leo diesel",
        "Gr?fica S?o Jo?o",
    )
    return _cells(_CR, "historico", [*texts, "Cart?rio"])


def _remains() -> Iterator[Shape]:
    texts = (
        "Loading...", "#LOADING...", "[object Object]", "\\N", '=DISPIMG("ID_77",1)', "[NULL]",
        "Carregando…", "(nil)",
    )  # fmt: skip
    return _cells(_CR, "historico", texts)


def _far_years() -> Iterator[Shape]:
    days = [date(year, 11, 3) for year in (2057, 2066, 2099, 1995, 1976)]
    yield from _cells(_CR, "dataDeVencimento", days)
    yield from _cells(_CP, "dataDeVencimento", days)


def _headers_of_mappings() -> Iterator[Shape]:
    for names in (
        ("Sacado", "Vcto", "Vlr, R$"), ("Sac, cód", "Vcto", "Vlr, R$"), ("Sac", "Vcto, dia", "Vlr"),
        ("Sacado, Vcto", "Dia", "Valor, líquido, R$"), ("Nº, loja", "Dt, vcto", "Vlr, em reais"),
    ):  # fmt: skip
        columns = zip(
            ("codigoDoCliente", "dataDeVencimento", "valorDoLancamento"), names, strict=True
        )
        content = {"version": 1, "resource": _CR, "header": list(names)}
        mapping = yaml.safe_dump({**content, "columns": {to: {"from": own} for to, own in columns}})
        rows = [
            dict(zip(names, (1000 + n, date(2026, 11, 20), 10.5 + n), strict=True))
            for n in range(4)
        ]
        yield Shape(" ".join(names), _CR, rows, "valorDoLancamento", 13.5, mapping=mapping)


KINDS: Mapping[str, Kind] = {
    "headers of mappings": Kind(_headers_of_mappings, (".csv",)),
    "line breaks and tabs": Kind(_breaks),
    "literal percent signs": Kind(_percent_signs, WITH_SHEETS, quiet=True),
    "postcodes": Kind(_postcodes),
    "documents": Kind(_documents),
    "states": Kind(_states),
    "municipalities": Kind(_municipalities),
    "documents beside an invalid nature": Kind(_beside_nature),
    "items without a product": Kind(_items, WITH_SHEETS),
    "splits without an amount": Kind(_splits, WITH_SHEETS),
    "titles of groups": Kind(_titles),
    "footers": Kind(_footers),
    "totals of a statement": Kind(_totals),
    "balances of a statement": Kind(_balances),
    "names like totals": Kind(_registry_names, quiet=True),
    "dates before midnight": Kind(_midnights),
    "dates that another column decides": Kind(_dates_of_others),
    "mixtures of codes": Kind(_mixtures, quiet=True),
    "measures with decimals": Kind(_measures, quiet=True),
    "reais of Google Sheets": Kind(_reais, WITH_SHEETS, quiet=True),
    "first days of months": Kind(_months, WITH_SHEETS, quiet=True),
    "zeros shown as words": Kind(_exempt, WITH_SHEETS, quiet=True),
    "units after quantities": Kind(_units, WITH_SHEETS, quiet=True),
    "zeros with a sign": Kind(_zeros),
    "split columns of documents": Kind(_split_documents, quiet=True),
    "lost letters": Kind(_lost_letters),
    "remains of programs": Kind(_remains),
    "years thirty years away": Kind(_far_years),
    "migrations": Kind(_breaks, migrated=True),
}


def evaluate_kinds(folder: Path, every: int, *, by_libreoffice: bool) -> Outcomes:
    """Evaluate each ``every``-th shape in the formats that LibreOffice writes, or the others."""
    shapes = [(name, kind, shape) for name, kind in KINDS.items() for shape in kind.shapes()]
    chosen = shapes[::every]
    sources = [one.write(folder / f"{n}.xlsx") for n, (_, _, one) in enumerate(chosen)]
    outcomes: Outcomes = {}
    for form in EVERY:
        if (form in BY_LIBREOFFICE) is not by_libreoffice:
            continue
        copies = _copies(sources, folder / form[1:], form)
        for (name, kind, shape), path in zip(chosen, copies, strict=True):
            if form in kind.forms:
                file = _migrated(path, shape.resource) if kind.migrated else path
                key = f"kind: {name}: {form}: {shape.name}"
                outcomes[key] = shape.outcome(file, quiet=kind.quiet)
    return outcomes


def _migrated(path: Path, resource: str) -> Path:
    """Return a new template with the data of a workbook."""
    target = path.with_name(f"{path.name} migrated.xlsx")
    migrate(path, target, load_catalogue()[resource], WorkbookLimits())
    return target


def _copies(sources: Sequence[Path], folder: Path, form: str) -> Sequence[Path]:
    """Return copies of workbooks in a format."""
    if form in BY_LIBREOFFICE:
        return save_with_libreoffice(sources, folder, form[1:])
    folder.mkdir()
    if form == ".xlsx":
        return sources
    write = write_xlsb if form == ".xlsb" else _write_csv
    return [write(source, folder / f"{source.stem}{form}") for source in sources]


def _write_csv(source: Path, target: Path) -> Path:
    """Write the first sheet as Excel in Brazil shows it, without number formats."""
    page = load_workbook(source).worksheets[0]
    with target.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\r\n")
        writer.writerows([_shown(cell) for cell in row] for row in page.iter_rows(values_only=True))
    return target


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case datetime():
            clock = "" if value.time() == datetime.min.time() else " %H:%M:%S"
            return value.strftime(f"%d/%m/%Y{clock}")
        case float():
            return str(value).replace(".", ",")
        case _:
            return str(value)
