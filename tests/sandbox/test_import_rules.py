"""Rules of imports: lines applied, refused and reported."""

import time
from typing import Any

import httpx
import pytest
from servers import Start, log_in
from workbooks import upload

TITLE = ["codigoDaFilial", "codigoDoCliente", "codigoDoItemDeLancamento", "codigoDoCentroDeCusto"]
TITLE += ["codigoDaContaCorrente", "historico"]


def finished(http: httpx.Client, log_id: int) -> dict[str, Any]:
    """Wait until a queued file is finished, and return its log."""
    for _ in range(600):
        log: dict[str, Any] = http.get(f"/v2/importacao/log-importacao/{log_id}").json()["data"]
        if log["situacao"] == "Finalizado":
            return log
        time.sleep(0.05)
    raise AssertionError(f"file {log_id} was never processed")


def client_named(http: httpx.Client, seu_codigo: str) -> list[dict[str, Any]]:
    listed = http.get("/v2/cliente", params={"dataInferior": "01/11/2026"}).json()["data"]
    return [client for client in listed if client["seuCodigo"] == seu_codigo]


def test_a_direct_import_is_all_or_nothing(http: httpx.Client) -> None:
    rows = [
        ["nomeComercial", "seuCodigo", "codigoDoVendedor"],
        ["Primeiro", "TUDO-OU-NADA", 1],
        ["Segundo", "TUDO-OU-NADA", 99],
        ["Terceiro", "TUDO-OU-NADA", 1],
        ["Quarto", "TUDO-OU-NADA", 98],
    ]
    refused = http.post("/v2/importacao/cliente", files=upload(rows))
    assert refused.status_code == 400
    errors = refused.json()["errors"]
    assert [(error["key"], error["value"][:8]) for error in errors] == [
        ("codigoDoVendedor", "Linha 3:"),
        ("codigoDoVendedor", "Linha 5:"),
    ]
    assert client_named(http, "TUDO-OU-NADA") == []

    corrected = [rows[0], rows[1], rows[3]]
    assert http.post("/v2/importacao/cliente", files=upload(corrected)).status_code == 200
    assert len(client_named(http, "TUDO-OU-NADA")) == 2


def test_a_cached_workbook_is_validated_again(http: httpx.Client) -> None:
    def new_client() -> int:
        created = http.post("/v2/cliente", json={"nomeComercial": "Quem compra"})
        return int(created.json()["data"]["codigoDoCliente"])

    unknown = new_client() + 1
    workbook = upload([TITLE, [1, unknown, "1.01.001", "01.001", 1, "De quem ainda não há"]])
    path = "/v2/importacao/contasreceber"
    assert http.post(path, files=workbook).status_code == 400
    assert new_client() == unknown
    assert http.post(path, params={"preview": "true"}, files=workbook).status_code == 200
    assert http.post(path, files=workbook).status_code == 200
    queued = http.post(f"{path}/fila", files=workbook).json()["data"]
    http.post(f"/v2/importacao/processar-arquivo/{queued}").raise_for_status()
    log = finished(http, queued)
    assert (log["registrosImportados"], log["linhasRejeitadas"]) == (1, [])


def test_a_document_twice_in_one_file_is_refused(http: httpx.Client) -> None:
    # Two spellings of one document, which only the business rule detects.
    rows = [
        ["nomeComercial", "natureza", "cnpj", "cpf"],
        ["Um", "J", "60746948000112", ""],
        ["Dois", "F", "60746948000112", ""],
    ]
    refused = http.post("/v2/importacao/cliente", files=upload(rows))
    assert refused.status_code == 400
    assert "Linha 3" in refused.json()["errors"][0]["value"]


def test_a_queued_file_names_the_rows_of_the_sheet_as_excel_counts(http: httpx.Client) -> None:
    rows = [
        ["Clientes de outubro", "", ""],
        ["", "", ""],
        ["nomeComercial", "seuCodigo", "codigoDoVendedor"],
        ["Certo", "LINHAS", 1],
        ["", "", ""],
        ["Vendedor errado", "LINHAS", 99],
        ["Tipo errado", "LINHAS", "doze"],
        ["", "LINHAS", 1],
        ["Certo também", "LINHAS", 2],
    ]
    log = finished(
        http, http.post("/v2/importacao/cliente/fila", files=upload(rows)).json()["data"]
    )
    assert [(line["linha"], line["coluna"]) for line in log["linhasRejeitadas"]] == [
        (6, "codigoDoVendedor"),
        (7, "codigoDoVendedor"),
        (8, "nomeComercial"),
    ]
    assert (log["totalDeRegistros"], log["registrosImportados"], log["registrosRejeitados"]) == (
        5,
        2,
        3,
    )
    assert len(client_named(http, "LINHAS")) == 2


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([["cnpj", "email"], ["11222333000181", "a@example.com"]], id="column-missing"),
        pytest.param([["nomeComercial", "nomeComercial"], ["A", "B"]], id="column-twice"),
        pytest.param([["nomeComercial"]], id="no-rows"),
        pytest.param([["isto", "não"], ["é", "nada"]], id="no-header"),
    ],
)
@pytest.mark.parametrize("path", ["/v2/importacao/cliente", "/v2/importacao/cliente/fila"])
def test_a_wrong_layout_is_refused_at_once(
    http: httpx.Client, path: str, rows: list[list[str]]
) -> None:
    refused = http.post(path, files=upload(rows))
    assert refused.status_code == 400
    assert refused.json()["errors"]


def test_a_preview_does_not_check_business_rules(http: httpx.Client) -> None:
    rows = [["nomeComercial", "codigoDoVendedor"], ["Vendedor errado", 99]]
    shown = http.post(
        "/v2/importacao/cliente", params={"preview": "true"}, files=upload(rows)
    ).json()
    assert shown["data"]["totalDeRegistros"] == 1


@pytest.mark.parametrize(
    ("resource", "rows"),
    [
        (
            "contaspagar",
            [
                ["codigoDaFilial", "codigoDoFornecedor", *TITLE[2:], "CodigoDoCustoABC"],
                [1, 501, "2.01.001", "01.001", 1, "Energia", "ADM"],
                [1, 505, "2.01.001", "01.001", 1, "Fornecedor inativo", "ADM"],
                [1, 599, "2.01.001", "01.001", 1, "Fornecedor desconhecido", "ADM"],
                [1, 501, "1.01.001", "01.001", 1, "Categoria de receita", "ADM"],
                [1, 501, "2.01.001", "01.001", 1, "Custo desconhecido", "XYZ"],
            ],
        ),
        (
            "nota-fiscal-servico",
            [
                ["codigoDaFilial", "codigoDoCliente", "codigoDoServicoPrestado", "valorDoServico"],
                [1, "ACTIVE", "14.01", 1500.5],
                [9, "ACTIVE", "14.01", 1500.5],
                [1, 999999, "14.01", 1500.5],
                [1, "ACTIVE", "99.99", 1500.5],
                [1, "INACTIVE", "14.01", 1500.5],
            ],
        ),
        (
            "contasreceber",
            [
                [*TITLE, "codigoDaCarteira"],
                [1, "ACTIVE", "1.01.001", "01.001", 1, "Certo", 1],
                [1, "INACTIVE", "1.01.001", "01.001", 1, "Cliente inativo", 1],
                [1, "ACTIVE", "1.01.001", "01.001", 1, "Carteira de outra conta", 2],
                [1, "ACTIVE", "1.01.001", "99", 1, "Centro desconhecido", 1],
                [7, "ACTIVE", "1.01.001", "01.001", 1, "Filial desconhecida", 1],
            ],
        ),
    ],
)
def test_business_rules_check_each_queued_line(
    http: httpx.Client, resource: str, rows: list[list[Any]]
) -> None:
    listed = http.get("/v2/cliente").json()["data"]
    codes = {
        "ACTIVE": next(c["codigoDoCliente"] for c in listed if c["ativo"]),
        "INACTIVE": next(c["codigoDoCliente"] for c in listed if not c["ativo"]),
    }
    rows = [[codes.get(value, value) for value in row] for row in rows]
    log_id = http.post(f"/v2/importacao/{resource}/fila", files=upload(rows)).json()["data"]
    assert http.post(f"/v2/importacao/processar-arquivo/{log_id}").status_code == 200
    log = finished(http, log_id)
    assert [line["linha"] for line in log["linhasRejeitadas"]] == [3, 4, 5, 6]
    assert log["registrosImportados"] == 1


@pytest.mark.parametrize(
    ("resource", "header", "cells"),
    [
        ("contasreceber", TITLE, [1, 99999999999, "1.01.001", "01.001", 1, "Código longo demais"]),
        ("contasreceber", TITLE, [99999999999, 1001, "1.01.001", "01.001", 1, "Filial"]),
        ("contasreceber", TITLE, [1, 1001, "1.01_x0000_", "01.001", 1, "Categoria"]),
    ],
)
def test_a_cell_that_cannot_be_stored_is_a_rejected_line(
    http: httpx.Client, resource: str, header: list[str], cells: list[Any]
) -> None:
    file = upload([header, cells])
    refused = http.post(f"/v2/importacao/{resource}", files=file)
    assert refused.status_code == 400, refused.text
    assert "Linha 2" in refused.json()["errors"][0]["value"]
    log_id = http.post(f"/v2/importacao/{resource}/fila", files=file).json()["data"]
    http.post(f"/v2/importacao/processar-arquivo/{log_id}")
    log = finished(http, log_id)
    assert log["mensagem"] is None
    assert [line["linha"] for line in log["linhasRejeitadas"]] == [2]


def test_a_nul_in_a_cell_never_reaches_the_database(http: httpx.Client) -> None:
    file = upload([["nomeComercial", "cpf"], ["Nulo_x0000_", "_x0000_"]])
    (read,) = http.post("/v2/importacao/cliente", files=file).json()["data"]["registros"]
    assert read == {"nomeComercial": "Nulo", "natureza": "J"}


def test_a_resource_defined_by_the_user_is_imported(start: Start, tmp_path: Any) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "veiculo.yaml").write_text(OWN_RESOURCE, encoding="utf-8")
    rows = [["placa", "ano"], ["BRA2E19", 2020], ["QQP4F56", "dois mil"]]
    with log_in(start("--seed", "empty")) as http:
        shown = http.post("/v2/importacao/veiculo", params={"preview": "true"}, files=upload(rows))
        assert "Linha 3" in shown.json()["errors"][0]["value"]
        log_id = http.post("/v2/importacao/veiculo/fila", files=upload(rows)).json()["data"]
        assert finished(http, log_id)["registrosImportados"] == 1
        applied = http.post("/v2/importacao/veiculo", files=upload(rows[:2])).json()
        assert applied["data"]["registros"] == [{"placa": "BRA2E19", "ano": 2020}]


OWN_RESOURCE = """
schema_type: dataframe
version: 0.35.0
title: Veículos
coerce: false
strict: false
metadata:
  resource: veiculo
  import: {direct: imports.direct, queue: imports.queue, needs_processar: false}
  columns:
    placa: {kind: code}
columns:
  placa: {title: Placa, dtype: str, required: true, nullable: false}
  ano: {title: Ano, dtype: Int64, required: false, nullable: true}
"""


def test_imports_have_the_same_limits_as_requests(http: httpx.Client) -> None:
    invoice = {
        "codigoDaFilial": 1, "codigoDoCliente": 1001, "codigoDoServicoPrestado": "14.01",
        "valorDoServico": 10, "CodigoTipoDaOperacao": 2**31,
    }  # fmt: skip
    rows = [list(invoice), list(invoice.values())]
    called = http.post("/v2/faturamento/nfse", json=invoice)
    imported = http.post("/v2/importacao/nota-fiscal-servico", files=upload(rows))
    for refused in (called, imported):
        assert refused.status_code == 400
        assert [error["key"] for error in refused.json()["errors"]] == ["CodigoTipoDaOperacao"]
