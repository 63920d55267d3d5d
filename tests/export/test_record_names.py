"""Names beside codes in exported workbooks.

Inside: export.
"""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from environment import Xlbridge, credentials
from fake_system import fake_system

from xlbridge.client import Client
from xlbridge.export import LISTINGS
from xlbridge.export.sheets import with_names
from xlbridge.i18n import LANGUAGES, Language, override_language
from xlbridge.resources import normalize_header
from xlbridge.resources.names import coded_title
from xlbridge.sandbox import RunningSandbox

CLIENTS = [
    {"codigoDoCliente": 7, "nomeComercial": " Ana  & filhos <sul>", "ativo": True},
    {"codigoDoCliente": 8, "nomeComercial": "", "ativo": False},
]
TITLE = {"codigoDoExercicio": 2026, "codigoDaFilial": 1, "sequenciaDaTransacao": 1}
BRANCHES = [{"codigoDaFilial": 1, "descricaoDaFilial": "Matriz"}] * 2
RECEIVABLES, CLIENT_LIST = "/v2/financeiro/contasreceber", "/v2/cliente"
BRANCH_LIST, CENTRE_LIST = "/v2/estoque", "/v2/centrodecusto"
MOVEMENTS = "/v2/estoque/movimentacoes/produto/1"


def titles(*clients: Any) -> list[dict[str, Any]]:
    """Return receivables of clients, each a thousand more than the one before."""
    return [
        {
            **TITLE,
            "numeroDaTransacao": number,
            "codigoDoCliente": client,
            "codigoDoCentroDeCusto": "01",
            "valorDoLancamento": 1000 * number,
            "dataDeVencimento": "2026-12-01",
        }
        for number, client in enumerate(clients, start=1)
    ]


def table(path: Path, sheet: str) -> list[dict[str, Any]]:
    """Return the rows of a sheet by their titles, without the totals row."""
    book = openpyxl.load_workbook(path)
    header, *rows = book[sheet].iter_rows(values_only=True)
    (found,) = book[sheet].tables.values()
    rows = rows[: len(rows) - (found.totalsRowCount or 0)]
    return [dict(zip(map(str, header), row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("field", "title"),
    [("codigoDoCliente", "Client"), ("codigoDaFilial", "Branch"), ("idProduto", "Product")],
)
def test_a_name_is_titled_with_what_its_code_stands_for(field: str, title: str) -> None:
    assert coded_title(field).en == title


@pytest.mark.parametrize(
    ("listing", "options", "wanted"),
    [
        ("contasreceber", [], {"Client (name)", "Branch (name)", "Cost centre (name)"}),
        ("contaspagar", [], {"Supplier (name)", "Branch (name)", "Cost centre (name)"}),
        ("pedidos", ["--flat", "produtos"], {"Branch (name)"}),
        ("estoque", [], set()),
    ],
)
def test_every_code_of_a_registry_has_its_name_beside_it(
    tmp_path: Path,
    demo: RunningSandbox,
    xlbridge: Xlbridge,
    client: Client,
    listing: str,
    options: list[str],
    wanted: set[str],
) -> None:
    path = tmp_path / "x.xlsx"
    done = xlbridge("export", listing, "-o", path, *options, **credentials(demo))
    assert (done.returncode, "names" in done.stderr) == (0, False), done.stderr
    registries = {
        "Client": ("clientes", "codigoDoCliente", "nomeComercial"),
        "Supplier": ("fornecedores", "codigoDoFornecedor", "nomeComercial"),
        "Branch": ("estoque", "codigoDaFilial", "descricaoDaFilial"),
        "Cost centre": ("centros-custo", "codigoDoCentroDeCusto", "descricaoDoCentroDeCusto"),
    }
    rows = table(path, listing)
    assert len(rows) > 10
    found = {title for title in rows[0] if title.endswith("(name)")}
    assert wanted <= found
    assert (found == set()) == (wanted == set())
    for title in wanted:
        name = title.removesuffix(" (name)")
        source, code, label = registries[name]
        operation = LISTINGS[source].operation
        cap = LISTINGS[source].cap
        answers = client.all_records(operation, cap)
        names = {str(one[code]): one[label] for records, _ in answers for one in records}
        shown = {(str(row[f"{name} code"]), row[title]) for row in rows}
        assert shown <= {*names.items(), ("None", None)}
        assert len(shown - {("None", None)}) > 1


def test_a_registry_is_read_once_and_a_code_without_a_name_is_empty(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    path = tmp_path / "cr.xlsx"
    answers = {
        RECEIVABLES: titles(7, 8, 9, None, "7", True, {"a": 1}),
        CLIENT_LIST: CLIENTS,
        BRANCH_LIST: BRANCHES,
        CENTRE_LIST: [{"codigoDoCentroDeCusto": "01", "descricaoDoCentroDeCusto": "Vendas"}],
    }
    with fake_system(answers) as system:
        done = xlbridge("export", "contasreceber", "-o", path, **system.environment())
    assert done.returncode == 0, done.stderr
    calls = Counter(path for path, _ in system.calls)
    assert calls == dict.fromkeys(answers, 1)
    rows = table(path, "contasreceber")
    ana = "Ana & filhos <sul>"
    assert [row["Client (name)"] for row in rows] == [ana, None, None, None, ana, None, None]
    assert {row["Branch (name)"] for row in rows} == {"Matriz"}
    assert {row["Cost centre (name)"] for row in rows} == {"Vendas"}


def test_names_that_cannot_be_read_do_not_break_the_export(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    path = tmp_path / "cr.xlsx"
    answers = {RECEIVABLES: titles(7), BRANCH_LIST: BRANCHES, CENTRE_LIST: [{"odd": 1}]}
    with fake_system(answers) as system:
        done = xlbridge("export", "contasreceber", "-o", path, **system.environment())
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "have no names" in line]
    assert len(said) == 2
    assert any("the clients" in line for line in said)
    assert any("the cost centres" in line for line in said)
    (row,) = table(path, "contasreceber")
    assert (row["Client code"], row["Client (name)"], row["Branch (name)"]) == (7, None, "Matriz")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("x.xlsx", ["--codes-only"]),
        ("x.xlsx", ["--headers", "names"]),
        ("x.xlsx", ["--as-template"]),
        ("x.csv", []),
        ("x.jsonl", []),
        ("x.parquet", []),
    ],
)
def test_programs_get_codes_only(
    tmp_path: Path, xlbridge: Xlbridge, name: str, options: list[str]
) -> None:
    answers = {RECEIVABLES: titles(7), CLIENT_LIST: CLIENTS}
    with fake_system(answers) as system:
        arguments = ["-o", tmp_path / name, *options]
        done = xlbridge("export", "contasreceber", *arguments, **system.environment())
    assert (done.returncode, "have no names" in done.stderr) == (0, False), done.stderr
    assert {path for path, _ in system.calls} == {RECEIVABLES}
    if name.endswith(".csv"):
        with (tmp_path / name).open(encoding="utf-8-sig", newline="") as stream:
            assert next(csv.reader(stream)) == [
                column.name for column in LISTINGS["contasreceber"].sheets[0].columns
            ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_titles_with_names_are_unique_in_every_listing(language: Language) -> None:
    with override_language(language):
        for listing in LISTINGS.values():
            for sheet in map(with_names, (*listing.sheets, *listing.in_detail().sheets)):
                columns = [normalize_header(column.title) for column in sheet.columns]
                assert len(set(columns)) == len(columns), sheet.name
                assert len({column.name for column in sheet.columns}) == len(columns)


def test_a_sheet_with_names_is_processed_like_one_without(
    tmp_path: Path, demo: RunningSandbox, xlbridge: Xlbridge
) -> None:
    plans = []
    for options in ([], ["--codes-only"]):
        path = tmp_path / f"{len(options)}.xlsx"
        filters = ["--limit", "5", *options]
        done = xlbridge("export", "pedidos", "-o", path, *filters, **credentials(demo))
        assert done.returncode == 0, done.stderr
        checked = xlbridge("validate", path, "--format", "json", **credentials(demo))
        planned = xlbridge("process", "pedidos", path, "--format", "json", **credentials(demo))
        plan = json.loads(planned.stdout)
        plans.append((planned.returncode, plan.get("rows"), checked.returncode))
    assert plans[0] == plans[1]


def test_totals_of_records_without_a_branch_come_last(tmp_path: Path, xlbridge: Xlbridge) -> None:
    """As on closing proofs."""
    records = titles(7, 8, 9)
    for record, branch in zip(records, (10, None, 9), strict=True):
        record["codigoDaFilial"] = branch
    path, manifest = tmp_path / "cr.xlsx", tmp_path / "cr.json"
    answers = {RECEIVABLES: records, CLIENT_LIST: CLIENTS, BRANCH_LIST: BRANCHES}
    with fake_system(answers) as system:
        arguments = ["-o", path, "--manifest", manifest]
        done = xlbridge("export", "contasreceber", *arguments, **system.environment())
    assert done.returncode == 0, done.stderr
    by = {one["by"]: one["sums"] for one in json.loads(manifest.read_text("utf-8"))["totals"]}
    assert [total["label"] for total in by["Branch"]] == ["9", "10", "–"]
    cover = [row[0].value for row in openpyxl.load_workbook(path).worksheets[0].iter_rows()]
    assert cover[cover.index("Branch") :][3:5] == ["(empty)", "Total"]


def test_the_cover_names_branches_and_the_largest_clients(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    path, manifest = tmp_path / "cr.xlsx", tmp_path / "cr.json"
    codes = [7, 8, *range(20, 35)]
    answers = {RECEIVABLES: titles(*codes), CLIENT_LIST: CLIENTS, BRANCH_LIST: BRANCHES}
    with fake_system(answers) as system:
        arguments = ["-o", path, "--manifest", manifest]
        done = xlbridge("export", "contasreceber", *arguments, **system.environment())
    assert done.returncode == 0, done.stderr
    first = openpyxl.load_workbook(path).worksheets[0]
    cover = list(first.iter_rows(values_only=True, max_col=3))
    assert ("1 – Matriz", 17, 153000) in cover
    at = [row[0] for row in cover].index("Client: the 10 largest")
    # The picture has no bar for all others together, which would hide the rest.
    assert f"'Export cover'!$C${at + 2}:$C${at + 11}" in {
        chart.series[0].val.numRef.f for chart in first._charts
    }
    assert cover[at + 1] == ("34", 1, 17000)
    assert cover[at + 10 : at + 13] == [
        ("25", 1, 8000),
        ("others (7)", 7, 28000),
        ("Total", 17, 153000),
    ]
    by = {one["by"]: one["sums"] for one in json.loads(manifest.read_text("utf-8"))["totals"]}
    assert by["Branch"] == [{"label": "1", "rows": 17, "amount": "153000"}]
    assert not any("largest" in title for title in by)
    with fake_system({RECEIVABLES: titles(7, 8), CLIENT_LIST: CLIENTS}) as system:
        xlbridge("export", "contasreceber", "-o", path, "--force", **system.environment())
    cover = list(openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True, max_col=3))
    assert ("7 – Ana & filhos <sul>", 1, 1000) in cover
    balance = {"codigoDaFilial": 1, "descricaoDaFilial": "Matriz", "idProd": 1, "valorTotal": 5}
    movements = [{"tipoDeMovimentacao": "E", "numeroDaMovimentacao": 1, "seq": 1, **balance}]
    invoice = {"idNF": 1, "codigoDoCliente": 1, "nomeDoCliente": "Matriz", "valorDosProdutos": 5}
    answers = {BRANCH_LIST: [balance], MOVEMENTS: movements, "/v2/faturamento/nfe/1": invoice}
    for listing in (["estoque"], ["movimentacoes", "--product", "1"], ["nfe", "--id", "1"]):
        with fake_system(answers) as system:
            xlbridge("export", *listing, "-o", path, "--force", **system.environment())
        (page, *_) = openpyxl.load_workbook(path).worksheets
        assert ("1 – Matriz", 1, 5) in page.iter_rows(values_only=True, max_col=3), listing
