"""What a sheet's XML says of its layout: what is hidden, merged, or computed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from xlbridge.workbook.address import column_index

Range = tuple[int, int, int, int]
"""First row, first column, last row, last column: Excel's row numbers, zero-based columns."""

_RUNS_KEPT = 4096
_TRUE = frozenset({"1", "true"})
_CORNERS = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})", re.ASCII)
_HIDDEN = re.compile(rb'<(row|col)\b([^>]*\bhidden="(?:1|true)"[^>]*)>')
_MERGED = re.compile(rb"<mergeCell\b([^>]*)>")
_ATTRIBUTE = re.compile(rb'\b(r|min|max|hidden|ref)="([^"]*)"')
_FORMULA = re.compile(rb'<c\b(?>[^>]*?\sr="([A-Z]{1,3})(\d{1,7})"[^>]*+)>\s*+<f[\s>/]')
_ANY_FORMULA = re.compile(rb"f(?<=<f)[\s>/]")


@dataclass(slots=True)
class LayoutMarks:
    """The hidden rows and columns, the merged ranges and the formulas of a sheet.

    ``formulas`` maps a column to its runs of formulas, each with its first and its last row; of
    very many only the first are kept.
    """

    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)
    merged: list[Range] = field(default_factory=list)
    formulas: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def note_block(self, block: bytes, *, computed: bool) -> bool:
        """Note what a piece of XML says; False where it is not written as programs write large
        sheets.

        ``computed`` tells whether there are formulas in it.
        """
        if b'hidden="' in block:
            for tag, attributes in _HIDDEN.findall(block):
                said = _attributes(attributes)
                if tag == b"row" and "r" not in said:
                    return False
                self.note(tag.decode(), said)
        if b"<mergeCell " in block:
            for attributes in _MERGED.findall(block):
                self.note("mergeCell", _attributes(attributes))
        if not computed:
            return True
        formulas = _FORMULA.findall(block)
        for letters, row in formulas:
            self.note_formula(int(row), column_index(letters.decode()))
        return len(formulas) == len(_ANY_FORMULA.findall(block))

    def note(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note what an element says; its tag is given without prefix."""
        if tag == "mergeCell":
            if match := _CORNERS.fullmatch(attributes.get("ref", "")):
                left, top, right, bottom = match.groups()
                self.merged.append((int(top), column_index(left), int(bottom), column_index(right)))
        elif attributes.get("hidden") in _TRUE:
            names = ("r",) if tag == "row" else ("min", "max")
            numbers = [int(attributes[n]) for n in names if attributes.get(n, "").isdecimal()]
            if tag == "row" and numbers:
                self.hidden_rows.update(numbers)
            elif tag == "col" and len(numbers) == len(names):
                self.hidden_columns.append((numbers[0] - 1, numbers[1] - 1))

    def note_formula(self, row: int, column: int) -> None:
        """Note a cell that a formula computes."""
        runs = self.formulas.setdefault(column, [])
        if runs and runs[-1][1] == row - 1:
            runs[-1] = runs[-1][0], row
        elif len(runs) < _RUNS_KEPT:
            runs.append((row, row))


def _attributes(raw: bytes) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in _ATTRIBUTE.findall(raw)}
