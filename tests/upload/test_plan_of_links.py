"""Plans whose later sheets link to records of earlier ones, killed between the steps."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from record_parts import PAYABLES
from sheets import write_records, write_rows
from update_parts import Run
from upload_parts import new_cnpj

from xlbridge.client import Client
from xlbridge.wire.financial import PAYABLE_LIST_OPEN
from xlbridge.wire.registry import PRODUCT_LIST, SUPPLIER_LIST
from xlbridge.wire.stock import ADDRESSING_LIST

KillWhileWriting = Callable[..., None]

PLAN = """\
version: 1
name: carga
steps:
  contas:
    upload: contas.xlsx
    resource: contaspagar
    mode: records
    links: {codigoDoFornecedor: fornecedor, codigoDoCentroDeCusto: centrodecusto}
  enderecos:
    upload: enderecos.xlsx
    resource: enderecamento-de-produto
    links: {idProd: produto}
  produtos: {upload: produtos.xlsx, resource: produto}
  centros: {upload: centros.xlsx, resource: centrodecusto}
  fornecedores: {upload: fornecedores.xlsx, resource: fornecedor}
"""


@pytest.mark.parametrize("committed", [False, True])
def test_a_resumed_plan_links_to_records_of_earlier_steps_once(
    client: Client,
    run: Run,
    kill_while_writing: KillWhileWriting,
    tmp_path: Path,
    committed: bool,
) -> None:
    documents = [new_cnpj(), new_cnpj()]
    tag = documents[0][:8]
    (tmp_path / "plan.yaml").write_text(PLAN, "utf-8")
    suppliers = [
        {"nomeComercial": f"Casa {tag} {n}", "natureza": "J", "cnpj": one}
        for n, one in enumerate(documents)
    ]
    write_rows(
        tmp_path / "fornecedores.xlsx", [*suppliers[0]], [[*one.values()] for one in suppliers]
    )
    products = [
        {"codigoInterno": f"PL-{tag}-{n}", "descricaoDoProduto": f"Peça {tag} {n}"}
        for n in range(2)
    ]
    write_records(tmp_path / "produtos.xlsx", "produto", products)
    centre = {"codigoDoCentroDeCusto": f"9.{tag}", "descricaoDoCentroDeCusto": f"Obra {tag}"}
    write_rows(tmp_path / "centros.xlsx", [*centre], [[*centre.values()]])
    bills = [
        {
            "codigoDoFornecedor": name,
            "codigoDoCentroDeCusto": f"OBRA {tag}",
            "numeroDoDocumento": f"B-{tag}-{n}",
            "dataDeVencimento": date(2026, 10, 30),
        }
        for n, name in enumerate([documents[0], f"casa {tag} 1"])
    ]
    write_records(tmp_path / "contas.xlsx", "contaspagar", bills)
    places = [{"idProd": f"PL-{tag}-0"}, {"idProd": f"peca {tag} 1"}]
    write_records(tmp_path / "enderecos.xlsx", "enderecamento-de-produto", places)

    def payables_created() -> dict[str, int]:
        found = client.records(PAYABLE_LIST_OPEN)
        return {
            str(one["numeroDoDocumento"]): int(str(one["codigoDoFornecedor"]))
            for one in found
            if str(one["numeroDoDocumento"]).startswith(f"B-{tag}-")
        }

    kill_while_writing(
        "POST",
        ["batch", "run", str(tmp_path / "plan.yaml"), "--yes"],
        committed=committed,
        is_committed=lambda: len(payables_created()) >= 1,
        path_part=PAYABLES,
    )
    code, report = run("batch", "run", tmp_path / "plan.yaml", "--yes")
    assert code == 0, report["proofs"]
    codes = {
        str(one["nomeComercial"]): one["codigoDoFornecedor"]
        for one in client.records(SUPPLIER_LIST)
        if f"Casa {tag} " in str(one["nomeComercial"])
    }
    assert len(codes) == 2
    assert payables_created() == {f"B-{tag}-{n}": codes[f"Casa {tag} {n}"] for n in range(2)}
    ids = [
        one["idProduto"]
        for one in client.records(PRODUCT_LIST)
        if f"Peça {tag} " in str(one["descricaoDoProduto"])
    ]
    placed = [one["idProd"] for one in client.records(ADDRESSING_LIST) if one["idProd"] in ids]
    assert sorted(placed) == sorted(ids)
    assert len(ids) == 2
