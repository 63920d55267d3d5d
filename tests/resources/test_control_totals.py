"""What control totals add up is declared by the schema file, or follows from its columns.

Inside: resources.
"""

from pathlib import Path
from shutil import copytree

import pytest

from xlbridge.errors import SchemaFileError
from xlbridge.resources import Catalogue
from xlbridge.resources.catalogue import read_schema_file
from xlbridge.resources.extensions import shipped_folder
from xlbridge.resources.resource import ControlTotals


def written(tmp_path: Path, old: str, new: str) -> Path:
    text = (shipped_folder("schemas") / "contasreceber.yaml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "contasreceber.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


DECLARED = "control_totals: {amount: valorDoLancamento, by: [dataDeVencimento, "


def test_titles_are_added_up_by_due_date_client_and_branch(catalogue: Catalogue) -> None:
    assert catalogue.named("contasreceber").totals == ControlTotals(
        "valorDoLancamento", ("dataDeVencimento", "codigoDoCliente", "codigoDaFilial")
    )
    assert catalogue.named("cliente").totals.amount is None


def test_without_a_word_dates_and_registries_divide_the_first_money(tmp_path: Path) -> None:
    lines = (
        (shipped_folder("schemas") / "contasreceber.yaml").read_text(encoding="utf-8").splitlines()
    )
    path = tmp_path / "contasreceber.yaml"
    kept = [line for line in lines if "control_totals" not in line]
    children = shipped_folder("schemas") / "contasreceber"
    copytree(children, tmp_path / children.name)
    path.write_text("\n".join(kept), encoding="utf-8")
    assert read_schema_file(path).totals == ControlTotals(
        "valorDoLancamento",
        (
            "codigoDaFilial",
            "codigoDoCliente",
            "codigoDoCentroDeCusto",
            "dataDeEmissao",
            "dataDeVencimento",
        ),
    )


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (DECLARED.replace("valorDoLancamento", "valor"), "control_totals.amount: 'valor'"),
        (DECLARED.replace("valorDoLancamento", "historico"), "control_totals.amount: .*money"),
        (DECLARED.replace("dataDeVencimento", "vencimento"), r"control_totals.by\[0\]: 'venc"),
        (DECLARED.replace("by:", "of:"), "control_totals.*of"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, new: str, told: str) -> None:
    with pytest.raises(SchemaFileError, match=told):
        read_schema_file(written(tmp_path, DECLARED, new))
