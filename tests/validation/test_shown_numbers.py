"""Numbers that the sheet shows as something else than they are."""

from pathlib import Path

import pytest
import xlsxwriter
from openpyxl import Workbook
from sheets import GOOD

from xlbridge.resources.catalogue import Catalogue
from xlbridge.validation.validate import validate_workbook


def written(path: Path, column: str, value: object, form: str, writer: str) -> Path:
    """A good service invoice or client with one more cell, in a number format."""
    resource = "cliente" if column == "seuCodigo" else "nota-fiscal-servico"
    header, row = [*GOOD[resource], column], list(GOOD[resource].values())
    if writer == "openpyxl":
        book = Workbook()
        page = book.worksheets[0]
        page.append(header)
        page.append([*row, value])
        page.cell(2, len(header)).number_format = form
        book.save(path)
        return path
    with xlsxwriter.Workbook(path) as workbook:
        sheet = workbook.add_worksheet()
        sheet.write_row(0, 0, header)
        sheet.write_row(1, 0, row)
        sheet.write(1, len(row), value, workbook.add_format({"num_format": form}))
    return path


@pytest.mark.parametrize("writer", ["openpyxl", "xlsxwriter"])
@pytest.mark.parametrize(
    ("column", "value", "form", "codes"),
    [
        ("aliquotaISSRetido", 0.025, "0.00%", ["number-percent"]),
        ("aliquotaISSRetido", 0.025, "0%", ["number-percent"]),
        ("aliquotaISSRetido", 0.025, '0.0"%"', []),
        ("aliquotaISSRetido", 2.5, "0.00", []),
        ("aliquotaISSRetido", "2,5", "0.00%", ["number-as-text"]),
        ("seuCodigo", 12, "00000", ["code-leading-zeros"]),
        ("seuCodigo", 12345, "00000", []),
        ("seuCodigo", 12, "0", []),
        ("seuCodigo", "00012", "00000", []),
    ],
)
def test_what_is_shown_is_not_what_is_stored(
    tmp_path: Path,
    catalogue: Catalogue,
    column: str,
    value: object,
    form: str,
    codes: list[str],
    writer: str,
) -> None:
    judged = validate_workbook(written(tmp_path / "a.xlsx", column, value, form, writer), catalogue)
    assert [finding.kind.code for finding in judged.findings] == codes


def test_the_message_tells_both(tmp_path: Path, catalogue: Catalogue) -> None:
    path = written(tmp_path / "a.xlsx", "aliquotaISSRetido", 0.025, "0.00%", "xlsxwriter")
    (finding,) = validate_workbook(path, catalogue).findings
    assert "2.5%" in finding.message.en
    assert "0.025" in finding.message.en
