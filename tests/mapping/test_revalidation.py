"""Validation after edits reuses earlier results, and equals a first validation."""

import datetime as dt
import random
from pathlib import Path

import pytest
from environment import ROOT
from foreign_sheets import foreign_twin, write_mapping
from sheets import write_records, write_rows

from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.validation.cells import ColumnMemo
from xlbridge.validation.mapping import SheetMapping, read_mapping
from xlbridge.workbook.read import CellEncoder, WorkbookCells, read_workbook

ALL = sorted((ROOT / "samples").glob("*.xlsx"))
TYPED = ("", " ", "x", "0", -1.5, 12.0, 1e15, dt.date(2026, 2, 28), dt.datetime(2026, 3, 1, 12))
TYPED += ("31/12/2026", "01/02/2026", "1.234", "Total", "#N/A", "11.222.333/0001-81", "ação ", True)
TYPED += ("null", "A\u200bB", "nf-1", "1E+05", "JoÃ£o")


def edit(cells: WorkbookCells, header: int, order: random.Random) -> None:
    """Replace one or a few cells by values of their column or invented ones."""
    sheet = order.choice([candidate for candidate in cells.sheets if candidate.height > header])
    first = order.randrange(header, sheet.height)
    rows = list(range(first, min(first + order.choice((1, 1, 1, 4)), sheet.height)))
    for column in order.sample(sheet.columns, order.choice((1, 1, 2))):
        column.pad_to(sheet.height)
        others = [column.value(order.randrange(header, sheet.height)) for _ in rows]
        values = [order.choice((other, other, other, order.choice(TYPED))) for other in others]
        column.replace(rows, CellEncoder().encode(values))


def require_same(found: ValidatedSheet, fresh: ValidatedSheet) -> None:
    assert [(part.sheet, part.header_row, list(part.rows)) for part in found.with_children] == [
        (part.sheet, part.header_row, list(part.rows)) for part in fresh.with_children
    ]
    for one, other in zip(found.with_children, fresh.with_children, strict=True):
        assert list(one.findings) == list(other.findings)
        assert one.non_records == other.non_records
        assert one.frame.equals(other.frame)


def validate_edits(
    path: Path, catalogue: Catalogue, seed: int, edits: int, mapping: SheetMapping | None = None
) -> None:
    cells, memo, order = read_workbook(path, WorkbookLimits()), ColumnMemo(), random.Random(seed)
    named = None if mapping else validate_workbook(path, catalogue)
    resource = named.resource.name if named and named.resource else None

    def validated(memo: ColumnMemo) -> ValidatedSheet:
        sheet = named.sheet if named else None
        return validate_workbook(
            path,
            catalogue,
            resource=resource,
            sheet=sheet,
            workbook=lambda: cells,
            mapping=mapping,
            memo=memo,
        )

    first = validated(memo)
    require_same(first, validated(ColumnMemo()))
    header = max(part.header_row or 0 for part in first.with_children)
    for _ in range(edits):
        edit(cells, header, order)
        require_same(validated(memo), validated(ColumnMemo()))


def test_revalidation_after_edits_equals_first_validation(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    dates = [dt.date(2026, month, 1) for month in (9, 11, 12)]
    rows = [
        {"numeroDoDocumento": "NF-1", "valorDoLancamento": 10, "dataDeEmissao": dates[n % 3]}
        for n in range(6)
    ]
    path = write_records(tmp_path / "a.xlsx", "contasreceber", rows)
    validate_edits(path, catalogue, seed=1, edits=12)


def test_texts_typed_alone_equal_those_of_a_first_validation(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    """Sheets of few rows are typed whole again."""
    rows = [
        {
            "nomeComercial": f"Padaria {n}",
            "cnpj": "11.222.333/0001-81",
            "seuCodigo": f"C-{n:03}",
            "idws": f"nota {n} – ação",
        }
        for n in range(80)
    ]
    path = write_records(tmp_path / "a.xlsx", "cliente", rows)
    validate_edits(path, catalogue, seed=4, edits=16)


def test_rules_of_edited_rows_alone_equal_those_of_a_first_validation(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    """Rows that repeat others are found again when one of these is edited."""
    rows = [{"numeroDoDocumento": f"NF-{n % 70}", "valorDoLancamento": 10} for n in range(80)]
    path = write_records(tmp_path / "a.xlsx", "contasreceber", rows)
    validate_edits(path, catalogue, seed=5, edits=40)


def test_revalidation_of_child_sheets_equals_first_validation(
    samples: Path, catalogue: Catalogue
) -> None:
    path = samples / "contaspagar-com-rateio-com-erros.xlsx"
    validate_edits(path, catalogue, seed=1, edits=3)


@pytest.mark.slow
@pytest.mark.parametrize("sample", ALL, ids=lambda path: path.stem)
def test_revalidation_after_many_edits_equals_first_validation(
    tmp_path: Path, catalogue: Catalogue, sample: Path
) -> None:
    validate_edits(sample, catalogue, seed=2, edits=40)
    twin = foreign_twin(sample, tmp_path, catalogue, seed=2)
    validate_edits(twin.path, catalogue, seed=3, edits=20, mapping=read_mapping(twin.mapping))


def test_revalidation_of_constants_with_skipped_rows_equals_first_validation(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    header = ["Razão Social", "CNPJ", "Obs"]
    blank = [["", "", "início"], ["", "", "meio"]]
    rows = [[f"Padaria {n}", "11.222.333/0001-81", ""] for n in range(4)]
    path = write_rows(tmp_path / "a.xlsx", header, [*blank, *rows, ["Total", "", ""]])
    columns = {
        "nomeComercial": {"from": "Razão Social"},
        "cnpj": {"from": "CNPJ"},
        "codigoDoTipoDeCliente": {"constant": 1},
    }
    mapping = write_mapping(
        tmp_path / "m.yaml", resource="cliente", header=header, columns=columns, ignore=["Obs"]
    )
    validate_edits(path, catalogue, seed=3, edits=15, mapping=read_mapping(mapping))
