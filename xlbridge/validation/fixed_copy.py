"""Fixed copies: the analyst's workbook with every certain correction, validated again.

What a finding proposes is certain; the other cells stay as they are, to the byte.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from xlbridge.i18n import Text
from xlbridge.resources import Catalogue
from xlbridge.resources.findings import Finding
from xlbridge.settings import WorkbookLimits
from xlbridge.validation.pipeline import validate_sheets
from xlbridge.validation.request import ValidationRequest
from xlbridge.validation.results import (
    FixedCell,
    FixedCopy,
    UnfixedCell,
    ValidatedSheet,
    ValidationResult,
)
from xlbridge.workbook import CellPosition, cell_address, cell_position
from xlbridge.workbook.edit import EditableCells, EditablePackage, edit_package
from xlbridge.workbook.write import as_xlsx

_BY_CONVENTION = frozenset({"number-as-text", "date-as-text"})
_COMPUTED = Text(
    pt="o valor vem de uma fórmula; corrija a fórmula.",
    en="a formula gives the value; correct the formula.",
)
_RICH_TEXT = Text(
    pt="partes do texto têm formatação própria, que se perderia; corrija-o na célula.",
    en="parts of the text have formats of their own that would be lost; correct it in the cell.",
)
_FORMULA_DEPENDS = Text(
    pt="uma fórmula da coluna dá um texto cujo sentido pode depender deste.",
    en="a formula of the column gives a text whose meaning may depend on this one.",
)
_DOUBTED = Text(
    pt="as datas da coluna podem ter dia e mês trocados; confira-as antes.",
    en="day and month of the column's dates may be swapped; check them first.",
)
_OTHERS_DEPEND = Text(
    pt="o sentido de outros textos da coluna depende deste; declare a escrita com --dates ou "
    "--numbers, ou corrija-os antes.",
    en="the meaning of other texts of the column depends on this one; declare how to read them "
    "with --dates or --numbers, or correct them first.",
)


def fix_workbook(
    results: Sequence[ValidationResult],
    request: ValidationRequest,
    target: Path,
    catalogue: Catalogue,
    limits: WorkbookLimits,
) -> list[ValidationResult]:
    """Write a fixed copy of the request's file, and validate it: its findings are what is left.

    ``results`` are those of the file. Sheets come back with the file's own name and their
    ``fixes``, the other results as they are. Where no sheet was validated nothing is written.
    Raises what ``write_fixed_copy`` raises.
    """
    sheets = [item for item in results if isinstance(item, ValidatedSheet)]
    if not sheets:
        return list(results)
    with as_xlsx(request.file, [sheet.sheet for sheet in sheets], limits) as workbook:
        read_as = sheets[0].read_as
        if workbook != request.file:
            # There the numbers and dates that a .csv has as texts can be told and fixed.
            plain = validate_sheets(replace(request, file=workbook), catalogue, limits).sheets
            named = {sheet.sheet: sheet for sheet in plain}
            sheets = [named[sheet.sheet] for sheet in sheets]
        copies = write_fixed_copy(sheets, target)
    left = validate_sheets(replace(request, file=target), catalogue, limits).sheets
    by_name = {sheet.sheet: sheet for sheet in left}
    fixed = [
        replace(by_name[sheet.sheet], file=request.file, fixes=fixes, read_as=read_as)
        for sheet, fixes in zip(sheets, copies, strict=True)
    ]
    return [*fixed, *(item for item in results if not isinstance(item, ValidatedSheet))]


def write_fixed_copy(sheets: Sequence[ValidatedSheet], target: Path) -> list[FixedCopy]:
    """Write a copy of a workbook with the certain findings of its validated sheets fixed.

    Return what was fixed in each sheet. The copy is written even when nothing is. Raises
    ``WorkbookRefused`` when the workbook cannot be changed, ``UsageError`` when the copy cannot be
    written.
    """
    with edit_package(sheets[0].file) as package:
        copies = [FixedCopy(target, *_fix_sheet(package, sheet)) for sheet in sheets]
        package.save(target)
    return copies


def _fix_sheet(
    package: EditablePackage, sheet: ValidatedSheet
) -> tuple[list[FixedCell], list[UnfixedCell]]:
    proposed = {_place(f): f for f in sheet.findings if f.corrected is not None and f.cell}
    doubted = {f.column for f in sheet.findings if f.kind.code == "dates-swapped"}
    left = [
        UnfixedCell(finding, _DOUBTED if finding.column in doubted else _OTHERS_DEPEND)
        for finding in sheet.findings
        if finding.corrected is None and finding.kind.code in _BY_CONVENTION
    ]
    if not proposed:
        return [], left
    cells = EditableCells(package, sheet.sheet)
    moved = {place: target for place, f in proposed.items() if (target := _moved(f, sheet))}
    proposed |= {_place(target): target for target in moved.values()}
    reasons = _reasons(proposed, cells)
    for place, target in moved.items():
        for one, both in ((place, _place(target)), (_place(target), place)):
            if one in reasons:
                reasons.setdefault(both, reasons[one])
    changes = [
        FixedCell(finding, finding.corrected)
        for place, finding in proposed.items()
        if finding.corrected is not None and place not in reasons
    ]
    if changes:
        cells.change({_place(change.finding): change.new for change in changes})
    return changes, [*left, *(UnfixedCell(proposed[place], why) for place, why in reasons.items())]


def _moved(finding: Finding, sheet: ValidatedSheet) -> Finding | None:
    """Return a finding about the cell to which a misplaced value is moved, None where it stays."""
    name, value = finding.details.get("moved_to"), finding.details.get("document")
    if finding.row is None or not isinstance(name, str) or not isinstance(value, str):
        return None
    cell = cell_address(finding.row, sheet.columns[name])
    return replace(finding, column=name, cell=cell, value=None, corrected=value, details={})


def _reasons(
    proposed: Mapping[CellPosition, Finding], cells: EditableCells
) -> dict[CellPosition, Text]:
    """Return why some of the proposed cells must stay as they are."""
    locked = cells.locked(frozenset(proposed))
    texts = frozenset(p for p, f in proposed.items() if isinstance(f.corrected, str))
    reasons = dict.fromkeys(locked, _COMPUTED) | dict.fromkeys(cells.rich(texts), _RICH_TEXT)
    # Texts that stay may owe their meaning to the others of their column: all of them or none.
    undivided = {
        (finding.column, finding.kind.code)
        for place, finding in proposed.items()
        if place in locked and finding.kind.code in _BY_CONVENTION
    }
    for place, finding in proposed.items():
        if (finding.column, finding.kind.code) in undivided:
            reasons.setdefault(place, _FORMULA_DEPENDS)
    return reasons


def _place(finding: Finding) -> CellPosition:
    if finding.cell is None:
        raise AssertionError(finding)
    return cell_position(finding.cell)
