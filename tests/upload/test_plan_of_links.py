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
from xlbridge.wire.products import PRODUCT_LIST
from xlbridge.wire.registry import SUPPLIER_LIST
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
def test_what_earlier_steps_created_is_named_by_later_ones_once(
    client: Client,
    run: Run,
    kill_while_writing: KillWhileWriting,
    tmp_path: Path,
    committed: bool,
) -> None:
    documents = [new_cnpj(), new_cnpj()]
    mark = documents[0][:8]
    (tmp_path / "plan.yaml").write_text(PLAN, "utf-8")
    suppliers = [
        {"nomeComercial": f"Casa {mark} {n}", "natureza": "J", "cnpj": one}
        for n, one in enumerate(documents)
    ]
    write_rows(
        tmp_path / "fornecedores.xlsx", [*suppliers[0]], [[*one.values()] for one in suppliers]
    )
    products = [
        {"codigoInterno": f"PL-{mark}-{n}", "descricaoDoProduto": f"Peça {mark} {n}"}
        for n in range(2)
    ]
    write_records(tmp_path / "produtos.xlsx", "produto", products)
    centre = {"codigoDoCentroDeCusto": f"9.{mark}", "descricaoDoCentroDeCusto": f"Obra {mark}"}
    write_rows(tmp_path / "centros.xlsx", [*centre], [[*centre.values()]])
    bills = [
        {
            "codigoDoFornecedor": name,
            "codigoDoCentroDeCusto": f"OBRA {mark}",
            "numeroDoDocumento": f"B-{mark}-{n}",
            "dataDeVencimento": date(2026, 10, 30),
        }
        for n, name in enumerate([documents[0], f"casa {mark} 1"])
    ]
    write_records(tmp_path / "contas.xlsx", "contaspagar", bills)
    places = [{"idProd": f"PL-{mark}-0"}, {"idProd": f"peca {mark} 1"}]
    write_records(tmp_path / "enderecos.xlsx", "enderecamento-de-produto", places)

    def there() -> dict[str, int]:
        found = client.records(PAYABLE_LIST_OPEN)
        return {
            str(one["numeroDoDocumento"]): int(str(one["codigoDoFornecedor"]))
            for one in found
            if mark in str(one["numeroDoDocumento"])
        }

    kill_while_writing(
        "POST",
        ["batch", "run", str(tmp_path / "plan.yaml"), "--yes"],
        committed=committed,
        is_there=lambda: len(there()) >= 1,
        where=PAYABLES,
    )
    code, report = run("batch", "run", tmp_path / "plan.yaml", "--yes")
    assert code == 0, report["proofs"]
    codes = {
        str(one["nomeComercial"]): one["codigoDoFornecedor"]
        for one in client.records(SUPPLIER_LIST)
        if mark in str(one["nomeComercial"])
    }
    assert len(codes) == 2
    assert there() == {f"B-{mark}-{n}": codes[f"Casa {mark} {n}"] for n in range(2)}
    ids = [
        one["idProduto"]
        for one in client.records(PRODUCT_LIST)
        if mark in str(one["descricaoDoProduto"])
    ]
    placed = [one["idProd"] for one in client.records(ADDRESSING_LIST) if one["idProd"] in ids]
    assert sorted(placed) == sorted(ids)
    assert len(ids) == 2
