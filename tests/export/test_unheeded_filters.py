"""Filters that the system ignores: the export is filtered, or refused."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge
from fake_system import FakeSystem, fake_system

from xlbridge.export import LISTINGS, Filter

ORDERS = [
    {"numeroDoPedido": n, "codigoDaFilial": 1 + n % 2, "ultimaAtualizacao": "2026-10-05T10:00:00"}
    for n in range(1, 8)
]
INVOICES = [
    {
        "idNF": n,
        "codigoDaFilial": 1,
        "codigoDoCliente": 7 + n % 3,
        "ultimaAtualizacao": f"2026-10-0{n}T10:00:00",
    }
    for n in range(1, 8)
]
REQUISITIONS = [
    {"numeroDaRequisicao": n, "CodigoDaFilial": 1 + n % 2, "codigoDoCentroDeCusto": f"0{n % 3}"}
    for n in range(1, 8)
]
TYPES = [{"codigoDoTipoDeCompra": n, "ativo": n != 2} for n in (1, 2, 3)]
CLIENTS = [{"codigoDoCliente": n, "idws": f"C-{n}", "cnpjcpf": f"{n:011}"} for n in (1, 2, 3)]
PAYABLES = [
    {
        "codigoDoExercicio": 2026,
        "codigoDaFilial": 1 + n % 2,
        "numeroDaTransacao": n,
        "sequenciaDaTransacao": 1,
        "codigoDoFornecedor": 50 + n % 3,
    }
    for n in range(1, 8)
]
IGNORING_FILTERS = {
    "/v2/faturamento/pedido": ORDERS,
    "/v2/faturamento/nfse": INVOICES,
    "/v2/compras/requisicao/abertas": REQUISITIONS,
    "/v2/compras/gerenciamento/tipodecompra": TYPES,
    "/v2/cliente": CLIENTS,
    "/v2/financeiro/contaspagar": PAYABLES,
}


def exported(
    xlbridge: Xlbridge, folder: Path, system: FakeSystem, *arguments: str
) -> tuple[Any, list[dict[str, str]], dict[str, Any]]:
    """Run an export; return the finished command, the rows and the manifest."""
    output, manifest = folder / "out.csv", folder / "out.json"
    options = ["-o", output, "--manifest", manifest, "--force"]
    done = xlbridge("export", *arguments, *options, **system.environment())
    if not output.exists():
        return done, [], {}
    with output.open(encoding="utf-8-sig", newline="") as stream:
        return done, list(csv.DictReader(stream)), json.loads(manifest.read_text("utf-8"))


@pytest.mark.parametrize(
    ("arguments", "column", "kept", "excess"),
    [
        (["pedidos", "--branch", "1"], "numeroDoPedido", [2, 4, 6], {"branch": 4}),
        (["pedidos", "--limit", "3"], "numeroDoPedido", [1, 2, 3], {"limit": 4}),
        (["nfse", "--client", "8"], "idNF", [1, 4, 7], {"client": 4}),
        (["nfse", "--from", "03/10/2026", "--to", "05/10/2026"], "idNF", [3, 4, 5], None),
        (["requisicoes", "--branch", "2"], "numeroDaRequisicao", [1, 3, 5, 7], {"branch": 3}),
        (
            ["requisicoes", "--cost-centre", "01", "--cost-centre", "02"],
            "numeroDaRequisicao",
            [1, 2, 4, 5, 7],
            {"cost-centre": 2},
        ),
        (["tipos-compra", "--active"], "codigoDoTipoDeCompra", [1, 3], {"active": 1}),
        (["clientes", "--idws", "C-2"], "codigoDoCliente", [2], {"idws": 2}),
        (["clientes", "--document", "000.000.000-03"], "codigoDoCliente", [3], {"document": 2}),
        (["contaspagar", "--branch", "2"], "numeroDaTransacao", [1, 3, 5, 7], {}),
        (
            ["contaspagar", "--supplier", "51", "--supplier", "52", "--branch", "1"],
            "numeroDaTransacao",
            [2, 4],
            {},
        ),
    ],
    ids=str,
)
def test_records_outside_the_filter_are_not_written(
    tmp_path: Path,
    xlbridge: Xlbridge,
    arguments: Sequence[str],
    column: str,
    kept: list[int],
    excess: dict[str, int] | None,
) -> None:
    with fake_system(IGNORING_FILTERS) as system:
        done, rows, manifest = exported(xlbridge, tmp_path, system, *arguments)
    assert done.returncode == 0, done.stderr
    assert [int(row[column]) for row in rows] == kept
    assert manifest["records"] == len(kept)
    if excess is not None:
        # Orders and invoices are requested month by month; every answer has the excess records.
        times = max(1, len(manifest["windows"]))
        assert manifest["excess"] == {name: n * times for name, n in excess.items()}
    for name in manifest["excess"]:
        assert f"--{name}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "field", "values", "kept"),
    [
        (["--cost-centre", "11.1"], "codigoDoCentroDeCusto", ["11.1", "1.11", "111"], [0]),
        (["--cost-centre", "1"], "codigoDoCentroDeCusto", ["1", "01", "1.0", "1 "], [0, 3]),
        (["--category", "a-1"], "codigoDoItemDeLancamento", ["a-1", "A-1", "a1"], [0]),
        (["--branch", "1"], "codigoDaFilial", ["1.0", 1.0, "01", 1, 10, "1.5"], [0, 1, 2, 3]),
        (["--branch", "10"], "codigoDaFilial", ["1.0", 10, "10.0", "A10", ""], [1, 2]),
    ],
    ids=str,
)
def test_codes_are_compared_as_texts_and_numbers_as_numbers(
    tmp_path: Path,
    xlbridge: Xlbridge,
    arguments: Sequence[str],
    field: str,
    values: Sequence[object],
    kept: list[int],
) -> None:
    payables = [
        PAYABLES[0] | {"numeroDaTransacao": n, field: value} for n, value in enumerate(values)
    ]
    with fake_system({"/v2/financeiro/contaspagar": payables}) as system:
        done, rows, _ = exported(xlbridge, tmp_path, system, "contaspagar", *arguments)
    assert done.returncode == 0, done.stderr
    assert [int(row["numeroDaTransacao"]) for row in rows] == kept


def test_identifiers_are_compared_exactly(tmp_path: Path, xlbridge: Xlbridge) -> None:
    clients = [CLIENTS[0] | {"codigoDoCliente": n} for n in (1, 2, 3)]
    for client, idws in zip(clients, ("C-1", "C1", "c-1"), strict=True):
        client["idws"] = idws
    with fake_system({"/v2/cliente": clients}) as system:
        done, rows, manifest = exported(xlbridge, tmp_path, system, "clientes", "--idws", "C-1")
    assert done.returncode == 0, done.stderr
    assert [row["codigoDoCliente"] for row in rows] == ["1"]
    assert manifest["excess"] == {"idws": 2}


@pytest.mark.parametrize("document", ["12.345.678/000A-08", "123456780 00a08"])
def test_documents_are_compared_without_punctuation(
    tmp_path: Path, xlbridge: Xlbridge, document: str
) -> None:
    clients = [CLIENTS[0] | {"cnpjcpf": text} for text in ("12.345.678/000A-08", "12345678000B08")]
    with fake_system({"/v2/cliente": clients}) as system:
        done, rows, _ = exported(xlbridge, tmp_path, system, "clientes", "--document", document)
    assert (done.returncode, len(rows)) == (0, 1), done.stderr


@pytest.mark.parametrize(
    ("listing", "path", "option", "record"),
    [
        ("estoque", "/v2/estoque", "--with-balance", {"idProd": 1, "quantidadeTotal": "1,5"}),
        (
            "tipos-compra",
            "/v2/compras/gerenciamento/tipodecompra",
            "--active",
            {"codigoDoTipoDeCompra": 1, "ativo": "S"},
        ),
    ],
)
def test_a_value_that_a_filter_does_not_understand_is_reported(
    tmp_path: Path,
    xlbridge: Xlbridge,
    listing: str,
    path: str,
    option: str,
    record: dict[str, Any],
) -> None:
    with fake_system({path: [record]}) as system:
        done, rows, _ = exported(xlbridge, tmp_path, system, listing, option)
    assert (done.returncode, rows) == (4, []), done.stderr
    assert option in done.stderr


@pytest.mark.parametrize(
    ("arguments", "path", "record"),
    [
        (["pedidos", "--branch", "1"], "/v2/faturamento/pedido", {"numeroDoPedido": 1}),
        (["nfse", "--client", "8"], "/v2/faturamento/nfse", {"idNF": 1}),
        (["nfse", "--from", "03/10/2026"], "/v2/faturamento/nfse", {"idNF": 1}),
        (["planejamento", "--year", "2026"], "/v2/compras/planejamento", {"idPlanejamento": 1}),
    ],
)
def test_an_undocumented_filter_that_cannot_be_checked_is_refused(
    tmp_path: Path,
    xlbridge: Xlbridge,
    arguments: Sequence[str],
    path: str,
    record: dict[str, Any],
) -> None:
    with fake_system({path: [record]}) as system:
        done, rows, _ = exported(xlbridge, tmp_path, system, *arguments)
    assert (done.returncode, rows) == (4, [])
    assert arguments[1] in done.stderr


@pytest.mark.parametrize("day", ["2026-09-30T23:59:00", "2026-11-01T00:00:00", None])
def test_a_statement_of_another_period_is_refused(
    tmp_path: Path, xlbridge: Xlbridge, day: str | None
) -> None:
    lines = [{"data": "2026-10-31T23:59:59", "valor": 1.5}, {"data": day, "valor": 2}]
    statement = {"codigoDaContaCorrente": 1, "saldoFinal": 10, "lancamentos": lines}
    arguments = ["caixabancos", "--account", "1", "--from", "01/10/2026", "--to", "31/10/2026"]
    with fake_system({"/v2/financeiro/caixabancos": statement}) as system:
        done, rows, _ = exported(xlbridge, tmp_path, system, *arguments)
        assert (done.returncode, rows) == (4, [])
        assert "lancamentos.data" in done.stderr
        del lines[1]
        assert exported(xlbridge, tmp_path, system, *arguments)[0].returncode == 0


def test_a_documented_filter_that_cannot_be_checked_is_trusted(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    path = "/v2/compras/requisicao/abertas"
    with fake_system({path: [{"numeroDaRequisicao": 1}]}) as system:
        done, rows, _ = exported(xlbridge, tmp_path, system, "requisicoes", "--branch", "1")
    assert (done.returncode, len(rows)) == (0, 1)


def test_every_undocumented_filter_has_a_field_to_check_it() -> None:
    for listing in LISTINGS.values():
        for name in listing.undocumented - {Filter.FROM, Filter.TO}:
            shown = set(name.type.record_fields) & set(listing.model.model_fields)
            assert shown, (listing.name, name)
        if listing.undocumented & {Filter.FROM, Filter.TO}:
            assert "ultimaAtualizacao" in listing.model.model_fields


def test_records_read_by_other_processes_are_filtered_too(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    def orders(query: dict[str, list[str]]) -> list[dict[str, Any]]:
        start = query.get("dataInferior", ["01/01/1900"])[0]
        number = 100 * (int(start[6:10]) * 12 + int(start[3:5]))
        padding = "x" * 30_000
        return [
            {"numeroDoPedido": number + n, "codigoDaFilial": n % 2, "observacao": padding}
            for n in range(4)
        ]

    with fake_system({"/v2/faturamento/pedido": orders}) as system:
        arguments = ["pedidos", "--branch", "1", "--at-once", "2"]
        done, rows, manifest = exported(xlbridge, tmp_path, system, *arguments)
    windows = len(manifest["windows"])
    assert done.returncode == 0, done.stderr
    assert windows > 30
    assert (len(rows), manifest["records"]) == (2 * windows, 2 * windows)
    assert {row["codigoDaFilial"] for row in rows} == {"1"}
    assert manifest["excess"] == {"branch": 2 * windows}
