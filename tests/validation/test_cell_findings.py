"""Findings of a sheet are stored as columns and behave like a list.

Inside: validation.
"""

import json
import pickle
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from bad_sheet import COLUMNS, BadSheet, write_sheet
from sampling import every
from sheets import write_records

from xlbridge.errors import WorkbookRefused
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue
from xlbridge.resources.findings import Severity
from xlbridge.validation import RefusedFile, ValidatedSheet, row_numbers, validate_workbook
from xlbridge.validation.report import Report, by_rule, rule_key
from xlbridge.validation.report_formats import report_forms, report_lines
from xlbridge.validation.results import SkippedSheet
from xlbridge.validation.sheet_findings import SheetFindings, by_column_and_kind

ROWS = 4_500
"""More rows than a block of the report or a cache holds."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> BadSheet:
    return write_sheet(tmp_path_factory.mktemp("bad") / "bad.xlsx", ROWS, 1)


@pytest.fixture(scope="module")
def validated(written: BadSheet, catalogue: Catalogue) -> ValidatedSheet:
    return validate_workbook(written.path, catalogue)


def test_every_cell_of_a_fully_bad_sheet_has_its_finding(
    written: BadSheet, validated: ValidatedSheet
) -> None:
    cells = [finding.cell for finding in validated.findings]
    assert len(cells) == len(validated.findings) == ROWS * len(COLUMNS)
    assert set(cells) == written.bad_cells
    places = [(f.row, COLUMNS.index(f.column or "")) for f in validated.findings]
    assert all(before < after for before, after in pairwise(places))


def test_cells_may_have_more_findings_than_the_sheet_has_rows(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    rows = [{"valorDoLancamento": "-10,50"}] * 2
    validated = validate_workbook(
        write_records(tmp_path / "a.xlsx", "contasreceber", rows), catalogue
    )
    assert [(f.row, f.kind.code, f.numeric) for f in validated.findings] == [
        (row, code, False) for row in (2, 3) for code in ("number-as-text", "value-range")
    ]


def test_numbers_and_texts_of_a_bad_column_are_distinguished(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    rows = [{"valorDoLancamento": value} for value in ["x1.5", -1.25] * 3]
    validated = validate_workbook(
        write_records(tmp_path / "a.xlsx", "contasreceber", rows), catalogue
    )
    assert [f.numeric for f in validated.findings] == [False, True] * 3


def test_findings_behave_like_a_list(validated: ValidatedSheet) -> None:
    findings, listed = validated.findings, list(validated.findings)
    assert isinstance(findings, SheetFindings)
    assert findings == listed
    assert findings != listed[:-1]
    assert [findings[0], findings[4_096], findings[-1]] == [listed[0], listed[4_096], listed[-1]]
    for part in (slice(3), slice(4_090, 4_100), slice(-5, None), slice(None, None, -20_000)):
        assert findings[part] == listed[part]
    with pytest.raises(IndexError):
        findings[len(listed)]
    assert pickle.loads(pickle.dumps(findings)) == listed


def test_counts_and_groups_cover_all_findings(validated: ValidatedSheet) -> None:
    listed = list(validated.findings)
    errors = sum(finding.kind.severity is Severity.ERROR for finding in listed)
    assert (validated.errors, validated.warnings) == (errors, len(listed) - errors)
    groups = by_rule(validated.findings)
    assert {rule: len(group) for rule, group in groups.items()} == Counter(map(rule_key, listed))
    assert {rule: list(group) for rule, group in by_rule(listed).items()} == {
        rule: list(group) for rule, group in groups.items()
    }
    assert list(groups) == list(by_rule(listed))
    assert sum(map(len, by_column_and_kind(validated.findings))) == len(listed)
    assert all(
        row_numbers(group) == [f.row for f in group]
        for group in by_column_and_kind(validated.findings)
    )
    shown = "\n".join(report_lines(Report([validated], limit=0)))
    assert all(f"[{code}] ×{len(group)}" in shown for (_, code), group in groups.items())


@pytest.mark.parametrize("limit", every(2, [None, 0, 4_097, 50_000]))
def test_json_report_lists_findings_up_to_its_limit(
    validated: ValidatedSheet, limit: int | None
) -> None:
    refused = RefusedFile(
        Path('"findings": [].xlsx'), WorkbookRefused("damaged", Text(pt='"findings": []', en="x"))
    )
    items = [refused, validated, SkippedSheet(Path("a.xlsx"), '"findings": []')]
    report = Report(items, limit)
    document = json.loads("".join(report_forms(report).render("json")))
    total = ROWS * len(COLUMNS)
    (refused_file, file) = document["files"]
    assert (refused_file["file"], refused_file["findings"]) == ('"findings": [].xlsx', [])
    assert document["skipped"] == [{"file": "a.xlsx", "sheet": '"findings": []'}]
    assert file["findings"] == [
        {
            "cell": finding.cell,
            "row": finding.row,
            "column": finding.column,
            "code": finding.kind.code,
            "severity": finding.kind.severity.value,
            "value": finding.value,
            "message": str(finding.message),
            "hint": str(finding.hint),
        }
        for finding in validated.findings[:limit]
    ]
    assert file["errors"] + file["warnings"] == total
    assert len(file["findings"]) == (total if limit is None else limit)
    assert file["truncated"] is (limit is not None and limit < total)
