"""Samples with other headers in another order have the same findings if mapped."""

import re
from pathlib import Path

import pytest
from environment import ROOT
from foreign_sheets import foreign_twin, write_mapping
from sampling import every
from sheets import write_rows

from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.validation.mapping import read_mapping

SAMPLES = sorted((ROOT / "samples").glob("*.xlsx"))
ADDRESS = re.compile(r"([A-Z]+)(\d+)")


def findings(
    sheet: ValidatedSheet, moved: dict[str, str] | None = None
) -> list[tuple[object, ...]]:
    """Return the findings of the cells below the header, at the addresses they moved to."""
    found: list[tuple[object, ...]] = []
    for one in sheet.findings:
        if (one.row or 0) > (sheet.header_row or 0):
            match = ADDRESS.fullmatch(one.cell or "")
            letters = "" if match is None else match[1]
            letters = letters if moved is None else moved.get(letters, "")
            found.append((one.row, letters, one.column, one.kind.code, one.value, one.corrected))
    return sorted(found, key=repr)


@pytest.mark.parametrize(
    ("sample", "seed"),
    every(8, ((path, seed) for path in SAMPLES for seed in (1, 2))),
    ids=lambda value: getattr(value, "stem", value),
)
def test_a_mapped_sample_has_the_same_findings(
    tmp_path: Path, catalogue: Catalogue, sample: Path, seed: int
) -> None:
    twin = foreign_twin(sample, tmp_path, catalogue, seed)
    plain = validate_workbook(sample, catalogue)
    mapped = validate_workbook(twin.path, catalogue, mapping=read_mapping(twin.mapping))
    assert findings(mapped) == findings(plain, twin.moved)
    assert list(mapped.rows) == list(plain.rows)
    assert mapped.non_records == plain.non_records
    assert mapped.frame.equals(plain.frame)
    assert plain.resource is not None
    lacking = set(plain.resource.required) - set(plain.columns)
    layout = [f for f in mapped.findings if (f.row or 0) <= (mapped.header_row or 0)]
    assert {(f.column, f.kind.code) for f in layout} == {
        (name, "mapping-column-missing") for name in lacking
    }


def test_columns_may_be_in_any_order(tmp_path: Path, catalogue: Catalogue) -> None:
    header, row = ["Razão Social", "CNPJ"], ["Padaria", "11.222.333/0001-81"]
    mapping = read_mapping(
        write_mapping(
            tmp_path / "m.yaml",
            resource="cliente",
            header=header,
            columns={"nomeComercial": {"from": "razao social"}, "cnpj": {"from": "CNPJ"}},
        )
    )
    for name, turned in (("a.xlsx", 1), ("b.xlsx", -1)):
        path = write_rows(tmp_path / name, header[::turned], [row[::turned]])
        assert validate_workbook(path, catalogue, mapping=mapping).findings == []
