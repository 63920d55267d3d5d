"""Layouts of other systems' exports are recognised by their header."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from environment import ROOT, Xlbridge
from sampling import every

LAYOUTS = ROOT / "xlbridge" / "validation" / "mapping" / "layouts"
SAMPLES = ROOT / "samples" / "layouts"
SAME_HEADERS = {"conta-azul-receber"}
"""Layouts whose sample does not tell what is received from what is paid."""
SAME_FIELDS = {"sankhya-tgffin-receber", "sankhya-tgffin-pagar", "sap-b1-oinv", "sap-b1-opch"}


@pytest.mark.parametrize(
    "path", every(3, sorted(LAYOUTS.glob("*.yaml"))), ids=lambda path: path.stem
)
def test_a_sample_of_each_layout_is_mapped_as_the_layout_says(
    tmp_path: Path, xlbridge: Xlbridge, path: Path
) -> None:
    layout = yaml.safe_load(path.read_text("utf-8"))
    shutil.copy(SAMPLES / f"{path.stem}.csv", tmp_path / "planilha.csv")
    proposed = xlbridge("map", "planilha.csv")
    if path.stem in SAME_HEADERS | SAME_FIELDS:
        assert proposed.returncode == 2
        assert "contasreceber" in proposed.stderr
        assert "contaspagar" in proposed.stderr
        proposed = xlbridge("map", "planilha.csv", "--resource", layout["resource"])
    assert f"The header is that of a known layout: {layout['title']}." in proposed.stderr
    found = yaml.safe_load(proposed.stdout)
    assert found["resource"] == layout["resource"]
    for name, body in layout["columns"].items():
        assert found["columns"][name]["from" if "from" in body else "join"] == (
            body.get("from") or body["join"]
        ), name
    assert _items(found) == _items(layout)


def _items(mapping: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Return the headers of the items of each list."""
    return {
        name: [{one: body["from"] for one, body in block.items()} for block in declared["items"]]
        for name, declared in mapping.get("lists", {}).items()
    }


def test_a_layout_with_items_fits_a_sheet_without_them(tmp_path: Path, xlbridge: Xlbridge) -> None:
    lines = (SAMPLES / "protheus-sc5.csv").read_text("utf-8").splitlines()
    count = lines[0].split(";").index("C6_ITEM")
    heads = dict.fromkeys(";".join(line.split(";")[:count]) for line in lines)
    (tmp_path / "planilha.csv").write_text("\n".join(heads), "utf-8")
    proposed = xlbridge("map", "planilha.csv")
    assert "known layout: Protheus, pedidos de venda e itens" in proposed.stderr
    found = yaml.safe_load(proposed.stdout)
    assert found["columns"]["chave"] == {"from": "C5_NUM"}
    assert "lists" not in found


def test_the_name_of_the_file_decides_between_layouts_with_the_same_header(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    for name, resource in [("Contas a receber", "contasreceber"), ("a_pagar", "contaspagar")]:
        shutil.copy(SAMPLES / "conta-azul-receber.csv", tmp_path / f"{name}.csv")
        proposed = xlbridge("map", f"{name}.csv")
        assert yaml.safe_load(proposed.stdout)["resource"] == resource, proposed.stderr


def test_every_layout_is_documented() -> None:
    page = (ROOT / "docs" / "mapping.md").read_text("utf-8")
    for path in LAYOUTS.glob("*.yaml"):
        layout = yaml.safe_load(path.read_text("utf-8"))
        line = f"| {layout['title']} | `{layout['resource']}` | {layout['source']} |"
        assert f"{line} [{path.stem}](../samples/layouts/{path.stem}.csv) |" in page
