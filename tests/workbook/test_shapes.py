"""Small files in shapes that programs write are read as in Excel, or refused by name."""

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from environment import Xlbridge
from sampling import every

from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import validate_workbook
from xlbridge.workbook import cell_position
from xlbridge.workbook.read import read_workbook

SHAPES = Path(__file__).parent / "shapes"

READ: dict[str, tuple[int, dict[str, object]]] = {
    "backslash.xlsx": (2, {}),
    "c_ctrlz.csv": (3, {}),
    "c_total_short.csv": (13, {"row-total": ["A14"]}),
    "cf_percent.xlsx": (2, {"number-shown-conditionally": ["J2", "J3"]}),
    "formula_blank_down.ods": (2, {"formula-result": ["G2"]}),
    "gsheets_real.xlsx": (3, {}),
    "mg_bigdate.xlsx": (2, {"type-date": ["I2", "I3"]}),
    "mg_core.xlsx": (2, {}),
    "mg_dv.xlsx": (2, {}),
    "mg_dxf.xlsx": (2, {}),
    "mg_err.xlsx": (2, {"cell-error": ["F2", "F3"]}),
    "mg_exp.xlsx": (2, {}),
    "mg_family.xlsx": (2, {}),
    "mg_fill.xlsx": (2, {}),
    "mg_filter.xlsx": (2, {}),
    "mg_names.xlsx": (2, {}),
    "mg_norefs.xlsx": (2, {}),
    "mg_stylexml.xlsx": (2, {}),
    "odfpy_linebreak.ods": (3, {}),
    "shapes.ods": (3, {}),
    "sst_other_name.xlsx": (2, {}),
    "strict.xlsx": (2, {}),
    "mg_styles2.xlsx": (2, {}),
    "styles2_percent.xlsx": (
        2,
        {
            "number-shown-otherwise": ["A2", "A3"],
            "number-percent": ["J2", "J3"],
            "date-as-text": ["H2", "I2", "H3", "I3"],
        },
    ),
    "u_sheetjs.xlsx": (2, {"dates-before-midnight": ["I2", "I3"]}),
    "u_shift.csv": (2, {"row-longer": ["L2"]}),
    "u_xlsxwriter.xlsx": (2, {"formula-no-value": ["F2", "F3"]}),
    "u_xlwt_formula.xls": (2, {"formula-no-value": ["J2", "J3"]}),
    "workbook22.xlsx": (2, {}),
}
"""Rows of each file that is read, and the cells of its findings by code."""


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_its_program_means_it(name: str, xlbridge: Xlbridge) -> None:
    done = xlbridge("validate", str(SHAPES / name), "--format", "json")
    (report,) = json.loads(done.stdout)["files"]
    cells: dict[str, list[str]] = {}
    for finding in report["findings"]:
        cells.setdefault(finding["code"], []).append(finding["cell"])
    assert (report["rows"], cells) == READ[name]


USUAL = {
    "historico": "Teste",
    "valorDoLancamento": Decimal("100.5"),
    "dataDeVencimento": datetime(2026, 11, 10),
}
"""Values of the first row of most files."""

OTHERS: dict[str, dict[str, object]] = {
    "c_ctrlz.csv": {"dataDeVencimento": datetime(2026, 11, 20)},
    "c_total_short.csv": {"dataDeVencimento": datetime(2026, 11, 20)},
    "cf_percent.xlsx": {"valorDoLancamento": Decimal("0.5")},
    "gsheets_real.xlsx": {"valorDoLancamento": Decimal("1234.5")},
    "mg_bigdate.xlsx": {"dataDeVencimento": None},
    "mg_err.xlsx": {"historico": None},
    "odfpy_linebreak.ods": {"historico": "Aluguel\nnovembro"},
    "shapes.ods": {"historico": "com\ttab"},
    "sst_other_name.xlsx": {"historico": "Compartilhado"},
    "styles2_percent.xlsx": {"valorDoLancamento": Decimal("0.5")},
    "u_shift.csv": {
        "valorDoLancamento": Decimal(100), "dataDeVencimento": datetime(2026, 11, 20)
    },
    "u_xlsxwriter.xlsx": {"historico": None},
    "u_xlwt_formula.xls": {"valorDoLancamento": None},
}  # fmt: skip
"""Other values by file; a missing one, or one that is wrong, has a finding in ``READ``."""


@pytest.mark.parametrize("name", READ)
def test_the_first_row_has_the_values_that_its_program_means(
    name: str, catalogue: Catalogue
) -> None:
    frame = validate_workbook(SHAPES / name, catalogue).frame
    for column, value in {**USUAL, **OTHERS.get(name, {})}.items():
        found = frame[column].iloc[0]
        assert pd.isna(found) if value is None else found == value, column


VALUES: dict[tuple[str, str], object] = {
    ("backslash.xlsx", "I2"): date(2026, 11, 10),
    ("c_total_short.csv", "J13"): "100,50",
    ("formula_blank_down.ods", "G3"): "NF-10053",
    ("odfpy_linebreak.ods", "F2"): "Aluguel\nnovembro",
    ("odfpy_linebreak.ods", "F3"): "Parcela\t2",
    ("odfpy_linebreak.ods", "F4"): "Bloco A\n10",
    ("shapes.ods", "F2"): "com\ttab",
    ("shapes.ods", "F3"): "Linha 1\nLinha 2",
    ("shapes.ods", "F4"): "a  b",
    ("shapes.ods", "J4"): 100.5,
    ("shapes.ods", "M3"): "",
    ("sst_other_name.xlsx", "F2"): "Compartilhado",
    ("strict.xlsx", "H2"): date(2026, 10, 1),
    ("mg_styles2.xlsx", "H3"): date(2026, 10, 1),
    ("workbook22.xlsx", "B2"): 1005.0,
}
"""Values of cells."""


@pytest.mark.parametrize(("name", "cell"), VALUES)
def test_a_cell_has_the_value_that_its_program_means(name: str, cell: str) -> None:
    path = SHAPES / name
    (sheet,) = read_workbook(path, WorkbookLimits(), trusted=path.read_bytes()).sheets
    row, column = cell_position(cell)
    assert sheet.row(row - 1)[column] == VALUES[name, cell]


REFUSED = {
    "flat.fods": ("not-xlsx", ".ods"),
    "html_div.xls": ("html", ".xlsx"),
    "mhtml.xls": ("html", ".xlsx"),
    "xmlss2003.xls": ("not-xlsx", ".xlsx"),
}
"""Code and hint of each file that is refused."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_of_another_kind_is_to_be_saved_as_a_workbook(name: str, xlbridge: Xlbridge) -> None:
    done = xlbridge("validate", str(SHAPES / name), "--format", "json")
    assert done.returncode == 3
    (report,) = json.loads(done.stdout)["files"]
    code, hint = REFUSED[name]
    assert report["refused"]["code"] == code
    shown = xlbridge("validate", str(SHAPES / name)).stdout
    assert hint in shown
    assert ".csv" not in shown


def test_every_file_is_tested() -> None:
    assert {path.name for path in SHAPES.iterdir()} == READ.keys() | REFUSED.keys()


MIGRATED = sorted(path.name for path in SHAPES.glob("*.xlsx"))


@pytest.mark.parametrize("name", every(3, MIGRATED))
def test_a_file_that_is_read_is_migrated(name: str, xlbridge: Xlbridge, tmp_path: Path) -> None:
    """A migration reads with the same reader, and the copy has the same findings."""
    target = tmp_path / "novo.xlsx"
    moved = xlbridge("template", "contasreceber", "--migrate", str(SHAPES / name), "-o", target)
    assert moved.returncode == 0, moved.stderr
    before, after = (
        json.loads(xlbridge("validate", str(path), "--format", "json").stdout)["files"][0]
        for path in (SHAPES / name, target)
    )
    assert after["rows"] == before["rows"] == READ[name][0]
    # Columns that are missing are empty ones now.
    found, left = (
        [
            (f["code"], f["row"], f["column"])
            for f in report["findings"]
            if f["code"] not in {"required-missing", "column-missing"}
        ]
        for report in (before, after)
    )
    assert left == found
