"""Struck parts of texts and formats of conditional formats are told alike in every format."""

from collections import Counter
from pathlib import Path

import pytest
from marked_twins import ROWS, WRITERS, Pieces

from xlbridge.resources import Catalogue
from xlbridge.validation import validate_workbook

WHOLE, PART = "cell-struck", "text-struck-in-part"
SHEETS: dict[str, tuple[Pieces, str, set[str]]] = {
    "a struck end": ((("Parcela 1 ", False), ("de 2", True)), "0.00", {PART}),
    "a struck start": ((("Parcela", True), (" 1 de 2", False)), "0.00", {PART}),
    "a struck middle": ((("a ", False), ("ção", True), (" c", False)), "0.00", {PART}),
    "struck twice": ((("a", True), ("b ", False), ("c", True)), "0.00", {PART}),
    "struck as a whole, in two runs": ((("Parcela", True), (" 1", True)), "0.00", {WHOLE}),
    "two runs that are not struck": ((("Parcela", False), (" 1", False)), "0.00", set()),
    "a percentage": ((("Parcela 1", False),), "0%", {"number-shown-conditionally"}),
    "words": ((("Parcela 1", False),), '"a combinar"', {"number-shown-conditionally"}),
    "thousands": ((("Parcela 1", False),), "#,##0,", {"number-shown-conditionally"}),
    "two decimals": ((("Parcela 1", False),), "0.00", set()),
}
"""Texts and formats of conditional formats, with the findings of each row."""


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("name", SHEETS)
def test_twins_say_the_same(name: str, kind: str, tmp_path: Path, catalogue: Catalogue) -> None:
    pieces, form, codes = SHEETS[name]
    sheet = validate_workbook(WRITERS[kind](tmp_path, pieces, form), catalogue)
    found = Counter[str]()
    for finding in sheet.findings:
        found[finding.kind.code] += finding.cells
    assert found == dict.fromkeys(codes, ROWS)
    assert set(sheet.frame["historico"]) == {"".join(text for text, _ in pieces)}
