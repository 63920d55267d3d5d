"""Titles: parts, statements of accounts, imports."""

from decimal import Decimal
from typing import Any

import httpx
import pytest
from workbooks import upload

from xlbridge.resources.checks import is_boleto
from xlbridge.wire import OPERATIONS
from xlbridge.wire.financial import TitleKey

ENTRY = {
    "codigoDaFilial": 1,
    "codigoDoFornecedor": 501,
    "codigoDoItemDeLancamento": "2.01.001",
    "codigoDoCentroDeCusto": "01.001",
    "codigoDaContaCorrente": 1,
    "historico": "Energia",
    "valorDoLancamento": 100,
}
PAYABLES = "/v2/financeiro/contaspagar"
RECEIVABLES = "/v2/financeiro/contasreceber"
RETAINED = ("PIS", "COFINS", "CSLL", "IR", "ISS", "INSS")


def data(http: httpx.Client, path: str, **query: object) -> Any:
    return http.get(path, params=query).json(parse_float=Decimal)["data"]


def statement(http: httpx.Client, account: int, first: str, last: str) -> dict[str, Any]:
    return data(
        http,
        "/v2/financeiro/caixabancos",
        codigoDaContaCorrente=account,
        dataInferior=first,
        dataSuperior=last,
    )


@pytest.mark.parametrize("path", [PAYABLES, RECEIVABLES])
@pytest.mark.parametrize("state", ["", "/baixados"])
def test_the_parts_of_a_title_add_up_to_it(http: httpx.Client, path: str, state: str) -> None:
    split = [title for title in data(http, path + state) if title["rateio"]]
    assert split
    for title in split:
        assert sum(part["valor"] for part in title["rateio"]) == title["valorDoLancamento"]


def test_open_and_settled_titles_differ_by_their_settlement(http: httpx.Client) -> None:
    for path in (PAYABLES, RECEIVABLES):
        assert all(title["dataDeBaixa"] is None for title in data(http, path))
        for title in data(http, f"{path}/baixados"):
            assert title["dataDeBaixa"] is not None
            assert title["valorBaixado"] == title["valorDoLancamento"]


def test_retained_taxes_of_the_demo_are_gross_less_net(http: httpx.Client) -> None:
    titles = data(http, f"{PAYABLES}/baixados")
    for title in titles:
        retained = sum(title[f"Valor{tax}Retido"] for tax in RETAINED)
        assert title["ValorBruto"] == title["valorDoLancamento"] + retained
        assert title["CodigoDeBarras"] is None or is_boleto(title["CodigoDeBarras"])
    assert any(title["CodigoDeBarras"] for title in titles)


@pytest.mark.parametrize("account", [1, 2, 3])
def test_a_statement_continues_the_previous_one(http: httpx.Client, account: int) -> None:
    whole = statement(http, account, "01/01/2025", "31/12/2026")
    first = statement(http, account, "01/01/2025", "15/03/2026")
    second = statement(http, account, "16/03/2026", "31/12/2026")
    assert whole["saldoAnterior"] == first["saldoAnterior"] == 0
    assert first["saldoFinal"] == second["saldoAnterior"]
    assert second["saldoFinal"] == whole["saldoFinal"]
    assert first["lancamentos"] + second["lancamentos"] == whole["lancamentos"]


def test_a_statement_has_every_settled_title_and_runs_its_balance(http: httpx.Client) -> None:
    made = statement(http, 1, "01/01/2025", "31/12/2026")
    balance = made["saldoAnterior"]
    for line in made["lancamentos"]:
        balance += line["valor"] if line["tipo"] == "Entrada" else -line["valor"]
        assert line["saldo"] == balance
        assert sum(part["valor"] for part in line["rateio"]) == line["valor"]
    assert made["saldoFinal"] == balance
    for path, total in ((RECEIVABLES, "totalDeEntradas"), (PAYABLES, "totalDeSaidas")):
        settled = data(http, f"{path}/baixados")
        of_account = [t["valorBaixado"] for t in settled if t["codigoDaContaCorrente"] == 1]
        assert made[total] == sum(of_account)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"codigoDoFornecedor": 505}, "codigoDoFornecedor"),
        ({"codigoDoItemDeLancamento": "1.01.001"}, "codigoDoItemDeLancamento"),
        ({"historico": " "}, "historico"),
        ({"ValorBruto": 99.99}, "ValorBruto"),
        ({"ValorBruto": 110, "ValorISSRetido": 5, "ValorIRRetido": 5.01}, "ValorBruto"),
        ({"ValorIRRetido": 0.001}, "ValorIRRetido"),
        ({"CodigoDeBarras": "123"}, "CodigoDeBarras"),
        ({"CodigoDoCustoABC": "XYZ"}, "CodigoDoCustoABC"),
        ({"rateio": [{"valor": 99.99}]}, "rateio"),
        ({"rateio": [{"valor": 100}, {"valor": 0}]}, "rateio.1.valor"),
        ({"rateio": [{"valor": 110}, {"valor": -10}]}, "rateio.1.valor"),
        ({"rateio": [{"valor": 99.995}, {"valor": 0.005}]}, "rateio.0.valor"),
        ({"rateio": [{"valor": "100"}]}, "rateio.0.valor"),
        ({"rateio": [{}]}, "rateio.0.valor"),
        ({"rateio": {"valor": 100}}, "rateio"),
    ],
)
def test_a_payable_title_that_breaks_a_rule_returns_400_with_the_field(
    http: httpx.Client, change: dict[str, Any], key: str
) -> None:
    refused = http.post(PAYABLES, json=ENTRY | change)
    assert refused.status_code == 400, refused.text
    assert key in [error["key"] for error in refused.json()["errors"]]


def test_retained_taxes_may_be_all_of_gross_less_net(http: httpx.Client) -> None:
    change = {"ValorBruto": 110, "ValorISSRetido": 5, "ValorIRRetido": 5}
    assert http.post(PAYABLES, json=ENTRY | change).status_code == 200


def test_an_altered_title_keeps_its_files_and_has_its_new_parts(http: httpx.Client) -> None:
    key = {"codigoDoExercicio": 2025, "codigoDaFilial": 1}
    key |= {"numeroDaTransacao": 1, "sequenciaDaTransacao": 1}
    before = data(http, f"{PAYABLES}/2025/1/1/1")
    change = {name: before[name] for name in ENTRY} | key
    change |= {"valorDoLancamento": 10.01, "rateio": [{"valor": 5}, {"valor": 5.01}]}
    changed = http.put(PAYABLES, json=change | {"codigoDoFornecedor": 502}).json()["data"]
    assert changed["Arquivos"] == before["Arquivos"] != []
    assert [part["valor"] for part in changed["rateio"]] == [5, 5.01]
    assert changed["dataDeVencimento"] is None
    restored = {name: before[name] for name in before if name != "Arquivos"}
    sent = httpx.Request("PUT", PAYABLES, json=_as_floats(restored)).content
    assert http.put(PAYABLES, content=sent).status_code == 200
    assert data(http, f"{PAYABLES}/2025/1/1/1") == before


def test_an_imported_title_is_read_like_one_that_was_posted(http: httpx.Client) -> None:
    posted = http.post(PAYABLES, json=ENTRY | {"numeroDoDocumento": "POSTED"})
    header = [*ENTRY, "numeroDoDocumento"]
    files = upload([header, [*ENTRY.values(), "IMPORTED"]])
    assert http.post("/v2/importacao/contaspagar", files=files).status_code == 200
    titles = {title["numeroDoDocumento"]: title for title in data(http, PAYABLES)}
    imported = titles["IMPORTED"]
    generated = {"numeroDaTransacao", "numeroDoDocumento"}
    assert imported["numeroDaTransacao"] == posted.json()["data"]["numeroDaTransacao"] + 1
    assert {n: v for n, v in imported.items() if n not in generated} == {
        n: v for n, v in titles["POSTED"].items() if n not in generated
    }


def test_an_imported_identifier_is_unique_and_finds_its_title(http: httpx.Client) -> None:
    client = http.post("/v2/cliente", json={"nomeComercial": "X"}).json()["data"]
    receivable = {name: value for name, value in ENTRY.items() if name != "codigoDoFornecedor"}
    receivable |= {"codigoDoCliente": client["codigoDoCliente"]}
    receivable |= {"codigoDoItemDeLancamento": "1.01.001", "idws": "IMPORTED-1"}
    files = upload([list(receivable), list(receivable.values())])
    assert http.post("/v2/importacao/contasreceber", files=files).status_code == 200
    found = data(http, f"{RECEIVABLES}/localizar", idws="IMPORTED-1")
    assert found["codigoDoCliente"] == client["codigoDoCliente"]
    again = http.post("/v2/importacao/contasreceber", files=files)
    assert [error["key"] for error in again.json()["errors"]] == ["idws"]


def _as_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_floats(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_floats(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value


def test_a_repeated_deletion_returns_404_and_so_is_not_retried(
    http: httpx.Client,
) -> None:
    title = http.post(PAYABLES, json=ENTRY).json()["data"]
    path = "/".join([PAYABLES, *(str(title[name]) for name in TitleKey.model_fields)])
    assert [http.delete(path).status_code for _ in range(2)] == [200, 404]
    assert not any(o.retryable for o in OPERATIONS.values() if o.method == "DELETE")
