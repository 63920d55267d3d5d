"""The sample plan that moves a company to another environment and proves both equal."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import httpx
import openpyxl
import pytest
from batch_parts import report, states, write_profile
from environment import ROOT, Xlbridge, clean_environment
from forked import Zygote
from sandboxes import sandbox_process

from xlbridge.sandbox import RunningSandbox

_OLD_CODES = 500
"""Codes that the old environment has assigned before."""


def sandbox_in(folder: Path) -> Any:
    options = ["--seed", "empty", "--db", f"sqlite:///{folder / 'sandbox.db'}"]
    return sandbox_process(folder, options, clean_environment(folder))


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("old-environment")
    with sandbox_in(folder) as running:
        with closing(sqlite3.connect(folder / "sandbox.db")) as database, database:
            database.execute("UPDATE counters SET last = last + ?", (_OLD_CODES,))
        fill_company(running)
        yield running


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[RunningSandbox]:
    with sandbox_process(tmp_path / "demo", [], clean_environment(tmp_path), few=True) as running:
        yield running


@pytest.fixture
def new(tmp_path: Path) -> Iterator[RunningSandbox]:
    with sandbox_in(tmp_path / "new-environment") as running:
        yield running


class System:
    """One environment, called directly according to the spec."""

    def __init__(self, running: RunningSandbox) -> None:
        self._http = httpx.Client(base_url=running.base_url, timeout=60, verify=False)
        login = {"email": running.email, "password": running.password}
        token = self._http.post("/v2/autenticar", json=login).json()["accessToken"]
        self._http.headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> "System":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def post(self, path: str, method: str = "POST", **body: Any) -> Any:
        answer = self._http.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json()["data"]

    def get(self, path: str) -> Any:
        return self._http.get(path).json()["data"]


def fill_company(running: RunningSandbox) -> None:
    """Create a company with one or two records of each kind."""
    with System(running) as system:
        firm = system.post(
            "/v2/cliente", nomeComercial="Padaria Estrela", cnpj="11222333000181", seuCodigo="A-1"
        )["codigoDoCliente"]
        person = system.post("/v2/cliente", nomeComercial="Ana Sem Documento", natureza="F")
        system.post("/v2/cliente/idws", "PUT", codigoDoCliente=firm, idws="WS-1")
        system.post("/v2/clientecontato", codigoDoCliente=firm, nome="Rita", cargo="Compradora")
        products = [
            system.post("/v2/produto", descricaoDoProduto=name)["idProduto"]
            for name in ("Farinha", "Fermento")
        ]
        entry = {"codigoDaFilial": 1, "dataDaEntrada": "2026-10-01", "codigoDoAlmoxarifado": 1}
        system.post("/v2/estoque/entrada", **entry, idProd=products[0], quantidade=12.5)
        title = {
            "codigoDaFilial": 1,
            "codigoDoCentroDeCusto": "01.001",
            "codigoDaContaCorrente": 1,
            "historico": "Mensalidade",
            "dataDeVencimento": "2026-12-10",
            "valorDoLancamento": 100.0,
        }
        parts = [{"codigoDoCentroDeCusto": "01.001", "valor": 60.0}]
        parts.append({"codigoDoCentroDeCusto": "01.002", "valor": 40.0})
        system.post(
            "/v2/financeiro/contasreceber",
            **title,
            codigoDoCliente=person["codigoDoCliente"],
            codigoDoItemDeLancamento="1.01.001",
            numeroDoDocumento="CR-1",
            rateio=parts,
        )
        system.post(
            "/v2/financeiro/contaspagar",
            **title,
            codigoDoFornecedor=501,
            codigoDoItemDeLancamento="2.01.001",
            numeroDoDocumento="CP-1",
        )
        header = {"codigoDaFilial": 1, "codigoDoTipoDeCompra": 1, "codigoDoColaborador": 1}
        items = [
            {"idProduto": products[1], "quantidade": 3},
            {"idProduto": 0, "descricaoDoProduto": "Frete", "quantidade": 1},
        ]
        requisition = system.post("/v2/compras/requisicao", **header, itens=items)
        system.post("/v2/compras/requisicao", **header, itens=items[:1])
        order = system.post(
            "/v2/compras/ordem",
            **header,
            itens=items,
            NumeroDaRequisicaoDeCompra=requisition["numeroDaRequisicao"],
        )
        bought = [{"idProduto": products[1], "quantidade": 3, "valorUnitario": 7.5}]
        system.post(
            "/v2/compras/pedido",
            codigoDaFilial=1,
            codigoDoFornecedor=502,
            numeroDaOrdem=order["numeroDaOrdem"],
            itens=bought,
        )
        service = {"codigoDaFilial": 1, "codigoDoCliente": firm, "codigoDoServicoPrestado": "14.01"}
        for amount in (150.0, 320.5):
            invoice = system.post("/v2/faturamento/nfs", **service, valorDoServico=amount)
        system.post(f"/v2/faturamento/nfs/processar/{invoice['idNF']}")
        warehouse = {"codigoDaFilial": 1, "codigoDoAlmoxarifado": 1, "carregarBaseDeProdutos": True}
        closed = system.post(
            "/v2/estoque/inventario", **warehouse, descricaoDoInventario="Do ano passado"
        )
        system.post(f"/v2/estoque/inventario/{closed['idInventario']}/encerrar")
        opened = system.post("/v2/estoque/inventario", **warehouse, descricaoDoInventario="Anual")
        count = f"/v2/estoque/inventario/{opened['idInventario']}/contagem/1"
        system.post(f"{count}/iniciar")
        system.post(count, itens=[{"idProd": products[0], "quantidade": 6}])
        for client in (firm, person["codigoDoCliente"]):
            system.post(
                "/v2/faturamento/pedido",
                codigoDaFilial=1,
                codigoDoCliente=client,
                codigoDaCondicaoDePagamento=2,
                dataDaOrdem="2026-11-03",
                produtos=[{"idProduto": products[0], "quantidade": 2, "valorUnitario": 5.0}],
            )


def moved(folder: Path, old: RunningSandbox, new: RunningSandbox, home: Path) -> Path:
    """Return a copy of the sample's plan, with both environments in the home."""
    write_profile(home, "origem", old)
    write_profile(home, "destino", new, exclusive=True)
    shutil.copytree(ROOT / "samples" / "move_company", folder)
    return folder / "plan.yaml"


@pytest.mark.slow
def test_a_company_is_moved_by_the_plan_alone_and_proven_equal(
    xlbridge: Xlbridge, tmp_path: Path, home: Path, old: RunningSandbox, new: RunningSandbox
) -> None:
    plan = moved(tmp_path / "mudanca", old, new, home)
    found = report(xlbridge("batch", "run", plan, "--yes", "--format", "json"), 0)
    assert set(states(found).values()) == {"done"}
    with System(new) as system, System(old) as before:
        (client,) = [c for c in system.get("/v2/cliente") if c["cnpjcpf"] == "11222333000181"]
        assert client["idws"] == "WS-1"
        assert client["codigoDoCliente"] < _OLD_CODES + 1001
        orders = system.get("/v2/faturamento/pedido")
        assert client["codigoDoCliente"] in {order["codigoDoCliente"] for order in orders}
        assert len(system.get("/v2/compras/requisicao/encerradas?CodigoDaFilial=1")) == 1
        (invoice,) = system.get("/v2/faturamento/nfse")
        assert (invoice["valorDoServico"], invoice["numeroDaNotaFiscalEletronica"]) == (150, None)
        (inventory,) = system.get("/v2/estoque/inventario")
        assert inventory["descricaoDoInventario"] == "Anual"
        listed = system.get(f"/v2/estoque/inventario/{inventory['idInventario']}/produtos")
        (counted,) = (one for one in listed if one["quantidadeContagem1"] == 6)
        assert counted["idProd"] < _OLD_CODES + 2001
        # The comparison must see what differs: a client that only one side has, its code, a count.
        before.post("/v2/cliente", nomeComercial="Chegou Depois")
        before.post("/v2/cliente/idws", "PUT", codigoDoCliente=_OLD_CODES + 1001, idws="WS-2")
        _, counted_before = before.get("/v2/estoque/inventario")
        count = f"/v2/estoque/inventario/{counted_before['idInventario']}/contagem/1"
        before.post(count, itens=[{"idProd": _OLD_CODES + 2001, "quantidade": 7}])
    (tmp_path / "mudanca" / "provas" / "comparacao.xlsx").unlink()
    again = report(xlbridge("batch", "run", plan, "--yes", "--format", "json"), 1)
    assert states(again)["prova"] == "partial"
    output = json.dumps(again, ensure_ascii=False)
    assert "clientes: 2/3" in output
    assert "idws (1)" in output
    book = openpyxl.load_workbook(tmp_path / "mudanca" / "provas" / "comparacao.xlsx")
    assert book.sheetnames == ["Comparison", "Listings", "Differences", "Not compared"]
    differences = list(book["Differences"].iter_rows(values_only=True))
    assert ("clientes", "11222333000181", "idws", "WS-1", "WS-2") in differences
    (counts,) = (row[3:] for row in differences if row[2] == "contagens")
    assert [text.rpartition(", quantidade=")[2] for text in counts] == ["6", "7"]
    assert counts[0].startswith("contagem=1, idProd=Farinha")
    apart = {row[:3] for row in book["Not compared"].iter_rows(values_only=True)}
    given = "the system assigns this number or code"
    assert ("clientes", "codigoDoCliente", given) in apart
    assert {row[0] for row in apart} >= {"nfe", "contasreceber-baixados", "movimentacoes"}


_KILLS_OF_EXPORTS, _KILLS_OF_LOADS = 5, 25
_LONGEST = 30.0
_MOST_RUNS = 20
_KILLED = -9


@pytest.mark.slow
def test_the_demo_company_is_moved_though_killed_thirty_times(
    tmp_path: Path, home: Path, demo: RunningSandbox, forks: Zygote
) -> None:
    with sandbox_in(tmp_path / "new-environment") as new:
        plan = moved(tmp_path / "mudanca", demo, new, home)
        asked = ["batch", "run", str(plan), "--yes", "--format", "json"]
        environment = clean_environment(home, XLBRIDGE_SETTLE="0")
        random = Random(1)

        def killed(times: int) -> int:
            moments = [random.uniform(0.5, _LONGEST) for _ in range(times)]
            ends = [forks.run(plan.parent, environment, asked, longest=m) for m in moments]
            return sum(ended.returncode == _KILLED for ended in ends)

        kills = killed(_KILLS_OF_EXPORTS)
        # Without consent a run ends once everything is exported and checked.
        assert forks.run(plan.parent, environment, asked[:3]).returncode == 2
        kills += killed(_KILLS_OF_LOADS)
        for _ in range(_MOST_RUNS):
            ended = forks.run(plan.parent, environment, asked)
            if ended.returncode == 0:
                break
        found = report(ended, 0)
        assert set(states(found).values()) == {"done"}
        assert kills > _KILLS_OF_LOADS // 2
        assert found["rows"]["unknown"] == found["rows"]["rejected"] == found["rows"]["held"] == 0
