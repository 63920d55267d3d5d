"""Control totals are declared by the schema file, or follow from its columns.

Inside: resources.
"""

from decimal import Decimal
from pathlib import Path
from shutil import copytree

import pytest
from environment import ROOT

from xlbridge.errors import SchemaFileError
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.resources.column import ControlTotals

SCHEMA = ROOT / "schemas" / "contasreceber.yaml"


def written(tmp_path: Path, old: str, new: str) -> Path:
    text = SCHEMA.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "contasreceber.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


DECLARED = "control_totals: {amount: valorDoLancamento, by: [dataDeVencimento, "


def test_titles_are_added_up_by_due_date_client_and_branch(catalogue: Catalogue) -> None:
    assert catalogue.named("contasreceber").totals == ControlTotals(
        amount="valorDoLancamento", by=("dataDeVencimento", "codigoDoCliente", "codigoDaFilial")
    )
    assert catalogue.named("cliente").totals.amount is None


def test_default_totals_group_the_first_money_by_dates_and_registries(tmp_path: Path) -> None:
    lines = SCHEMA.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "contasreceber.yaml"
    kept = [line for line in lines if "control_totals" not in line]
    copytree(SCHEMA.with_suffix(""), tmp_path / "contasreceber")
    path.write_text("\n".join(kept), encoding="utf-8")
    assert load_catalogue(tmp_path)["contasreceber"].totals == ControlTotals(
        amount="valorDoLancamento",
        by=(
            "codigoDaFilial",
            "codigoDoCliente",
            "codigoDoCentroDeCusto",
            "dataDeEmissao",
            "dataDeVencimento",
        ),
    )


@pytest.mark.parametrize(
    ("new", "pattern"),
    [
        (DECLARED.replace("valorDoLancamento", "valor"), "control_totals.amount: 'valor'"),
        (DECLARED.replace("valorDoLancamento", "historico"), "control_totals.amount: .*money"),
        (DECLARED.replace("dataDeVencimento", "vencimento"), r"control_totals.by\[0\]: 'venc"),
        (DECLARED.replace("by:", "of:"), "control_totals.*of"),
    ],
)
def test_mistakes_are_reported_with_their_location(tmp_path: Path, new: str, pattern: str) -> None:
    written(tmp_path, DECLARED, new)
    with pytest.raises(SchemaFileError, match=pattern):
        load_catalogue(tmp_path)


ORDERS = "products: {sheet: itens, columns: [quantidade, valorUnitario]}"


def test_the_amount_of_orders_is_in_their_list(catalogue: Catalogue) -> None:
    orders = catalogue.named("pedido-compra")
    items = [{"quantidade": 3, "valorUnitario": 1.115}, {"quantidade": 1, "valorUnitario": None}]
    assert orders.totals.amount_of({"itens": items}) == Decimal("3.35")
    assert orders.totals.amount_of({"itens": None}) == 0
    assert orders.amount_title is not None
    assert orders.amount_title.en == "Quantity × Unit price"


@pytest.mark.parametrize(
    ("new", "pattern"),
    [
        (ORDERS.replace("itens", "items"), "control_totals.products.sheet: .*itens"),
        (ORDERS.replace("quantidade", "volume"), r"products.columns\[0\]: .*quantidade"),
    ],
)
def test_mistakes_in_the_list_of_an_amount_are_reported(
    tmp_path: Path, new: str, pattern: str
) -> None:
    copytree(ROOT / "schemas" / "pedido-compra", tmp_path / "pedido-compra")
    text = (ROOT / "schemas" / "pedido-compra.yaml").read_text("utf-8")
    assert ORDERS in text
    (tmp_path / "pedido-compra.yaml").write_text(text.replace(ORDERS, new), "utf-8")
    with pytest.raises(SchemaFileError, match=pattern):
        load_catalogue(tmp_path)
