"""A sheet whose header has changed since its mapping was used: only the difference is asked."""

import csv
import json
from pathlib import Path

import pytest
import yaml
from environment import Xlbridge

HEADER = ["Loja X", "Comprador", "Conta", "Plano", "CC", "Feito em", "Vence em", "Quanto", "Sobre"]
ROW = [
    "Centro",
    "1001",
    "1",
    "1.01.001",
    "01.001",
    "15/10/2026",
    "31/10/2026",
    "1.234,56",
    "Aluguel",
]
MAPPING = """version: 1
resource: contasreceber
header: [Loja X, Comprador, Conta, Plano, CC, Feito em, Vence em, Quanto, Sobre]
columns:
  codigoDaFilial: {from: Loja X, values: {Centro: 2}}
  codigoDoCliente: {from: Comprador}
  codigoDoItemDeLancamento: {from: Plano}
  codigoDoCentroDeCusto: {from: CC}
  codigoDaContaCorrente: {constant: 7}
  historico: {from: Sobre}
  dataDeEmissao: {from: Feito em}
  dataDeVencimento: {from: Vence em}
  valorDoLancamento: {from: Quanto, numbers: pt}
ignore: [Conta]
accept: [code-shape:numeroDoDocumento]
"""


def write(folder: Path, header: list[str], *rows: list[str]) -> None:
    lines = [";".join(line) for line in (header, *rows)]
    (folder / "mes.csv").write_text("\n".join(lines) + "\n", "utf-8")


@pytest.fixture
def used(tmp_path: Path, xlbridge: Xlbridge) -> Xlbridge:
    """Return the command line after the mapping was used."""
    write(tmp_path, HEADER, ROW)
    (tmp_path / "m.yaml").write_text(MAPPING, "utf-8")
    assert xlbridge("validate", "mes.csv", "--map", "m.yaml").returncode == 0
    return xlbridge


def test_other_columns_are_kept_and_only_the_difference_is_shown(
    tmp_path: Path, used: Xlbridge
) -> None:
    header = ["Vence em", "Doc.", *(text for text in HEADER if text not in {"Vence em", "Quanto"})]
    header.append("Valor")
    values = dict(zip(HEADER, ROW, strict=True)) | {"Doc.": "NF-4512", "Valor": "1.234,56"}
    row = [values[text] for text in header]
    write(tmp_path, header, row, [*row[:2], "Sul", *row[3:]])
    changed = used("map", "mes.csv", "--resource", "contasreceber")
    assert yaml.safe_load(changed.stdout)["accept"] == ["code-shape:numeroDoDocumento"]
    columns = yaml.safe_load(changed.stdout)["columns"]
    before = yaml.safe_load(MAPPING)["columns"]
    assert columns.pop("numeroDoDocumento") == {"from": "Doc."}
    assert columns.pop("valorDoLancamento") == {"from": "Valor", "numbers": "pt"}
    # The new word of a list is asked for.
    assert columns.pop("codigoDaFilial")["values"] == {"Centro": 2, "Sul": "?"}
    assert columns == {name: before[name] for name in columns}
    assert set(before) - {"valorDoLancamento", "codigoDaFilial"} == set(columns)
    shown = [line for line in changed.stderr.splitlines() if "→" in line]
    assert [line.split(":")[0].split("→")[1].strip() for line in shown] == [
        "codigoDaFilial",
        "numeroDoDocumento",
        "valorDoLancamento",
    ]
    assert "no longer in the sheet: Quanto" in changed.stderr
    assert "new in the sheet: Doc., Valor" in changed.stderr


def test_a_renamed_column_is_found_by_its_values(tmp_path: Path, used: Xlbridge) -> None:
    header = ["Xyz" if text == "Vence em" else text for text in HEADER]
    write(tmp_path, header, ROW)
    changed = used("map", "mes.csv")
    columns = yaml.safe_load(changed.stdout)["columns"]
    assert columns["dataDeVencimento"] == {"from": "Xyz"}
    assert "low confidence: it is the only new column, and Vence em is no longer" in changed.stdout


def test_another_order_needs_no_question(tmp_path: Path, used: Xlbridge) -> None:
    write(tmp_path, HEADER[::-1], ROW[::-1])
    assert "This header is known" in used("map", "mes.csv").stderr
    assert used("validate", "mes.csv", "--map", "m.yaml").returncode == 0


def test_a_mapping_of_a_colleague_is_used_from_its_file(tmp_path: Path, xlbridge: Xlbridge) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "m.yaml").write_text(MAPPING, "utf-8")
    write(tmp_path, HEADER, ROW)
    assert xlbridge("validate", "mes.csv", "--map", "shared/m.yaml").returncode == 0
    assert "This header is known" in xlbridge("map", "mes.csv").stderr


OWN_NAMES = {
    "a comma in a name": ["Sacado;Dt Vcto;Vlr, R$", *["1001;05/11/2026;10,50"] * 3],
    "a comma in two names": ["Sac, cód;Dt Vcto;Vlr, R$", *["1001;05/11/2026;10,50"] * 3],
    "names in quotes": ['"Sac, cód";"Dt,Vcto";"Vlr, R$"', *["1001;05/11/2026;10,50"] * 3],
    "a title with more commas": [
        "Carteira, por sacado, vencimento, valor", "Sacado;Dt Vcto;Vlr, R$",
        *["1001;05/11/2026;10,50;", "1001;05/11/2026;10,50"] * 2,
    ],
    "a total": ["Sacado;Dt Vcto;Vlr, R$", *["1001;05/11/2026;10,50"] * 3, "Total, geral;31,50"],
    "rows of all widths": [
        "Sacado;Dt Vcto;Vlr, R$", *("1001;05/11/2026;10,50" + ";" * n for n in range(4))
    ],
}  # fmt: skip
"""Lines whose delimiter only the names of a mapping show."""


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize("case", OWN_NAMES)
def test_the_names_of_a_mapping_show_the_delimiter(
    tmp_path: Path, xlbridge: Xlbridge, case: str, mark: str
) -> None:
    """Also those of a remembered mapping, when a later file is opened."""
    lines = OWN_NAMES[case]
    header = next(csv.reader([line for line in lines if ";" in line], delimiter=";"))
    by_name = dict(
        zip(("codigoDoCliente", "dataDeVencimento", "valorDoLancamento"), header, strict=True)
    )
    mapping = {
        "version": 1, "resource": "contasreceber", "header": header,
        "columns": {name: {"from": text} for name, text in by_name.items()},
    }  # fmt: skip
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(mapping), "utf-8")
    for name in ("mes.csv", "outro.csv"):
        (tmp_path / name).write_text("\n".join([*lines, ""]).replace(";", mark), "utf-8")
    said = xlbridge("validate", "mes.csv", "--map", "m.yaml", "--format", "json").stdout
    assert json.loads(said)["files"][0]["rows"] >= 3
    assert "This header is known" in xlbridge("map", "outro.csv").stderr
