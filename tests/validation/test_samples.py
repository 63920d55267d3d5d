"""Good samples pass; in bad ones exactly the listed cells are found."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from environment import ROOT

from xlbridge.resources import Catalogue
from xlbridge.resources.findings import Severity
from xlbridge.validation import ValidatedSheet, validate_workbook

SAMPLES = ROOT / "samples"
LISTED = sorted(SAMPLES.glob("*.expected.yaml"))
BAD = {path.name.replace(".expected.yaml", ".xlsx") for path in LISTED}
GOOD = sorted(path for path in SAMPLES.glob("*.xlsx") if path.name not in BAD)


def test_each_resource_has_samples(catalogue: Catalogue) -> None:
    for name in catalogue:
        assert SAMPLES / f"{name}.xlsx" in GOOD
        assert SAMPLES / f"{name}-com-erros.expected.yaml" in LISTED
    assert sum("libreoffice" in path.name for path in (*GOOD, *LISTED)) >= 4


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_good_sample_passes(catalogue: Catalogue, path: Path) -> None:
    validated = validate_workbook(path, catalogue)
    for sheet in validated.with_children:
        assert [(f.cell, f.kind.code) for f in sheet.findings] == []
    assert validated.resource is not None
    assert path.stem.startswith(validated.resource.name)
    assert len(validated.rows) > 0


@pytest.mark.parametrize("listed", LISTED, ids=lambda path: path.name.split(".")[0])
def test_a_bad_sample_has_exactly_its_listed_findings(catalogue: Catalogue, listed: Path) -> None:
    expected = yaml.safe_load(listed.read_text(encoding="utf-8"))
    validated = validate_workbook(
        listed.with_name(listed.name.replace(".expected.yaml", ".xlsx")), catalogue
    )
    assert validated.children.keys() == expected.get("children", {}).keys()
    _assert_findings(validated, expected)
    for name, child in expected.get("children", {}).items():
        _assert_findings(validated.children[name], child)


def _assert_findings(validated: ValidatedSheet, expected: dict[str, Any]) -> None:
    found = {(f.cell, f.column, f.kind.code, f.kind.severity.value) for f in validated.findings}
    wanted = {
        (item.get("cell"), item.get("column"), item["code"], item.get("severity", Severity.ERROR))
        for item in expected["findings"]
    }
    assert found - wanted == set()
    assert wanted - found == set()
    assert len(validated.findings) == len(expected["findings"])
