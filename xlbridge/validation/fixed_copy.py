"""Fixed copies: the analyst's workbook with every certain correction, validated again.

All other cells stay unchanged, to the byte.
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
from xlbridge.validation.results import FixedCopy, UnfixedCell, ValidatedSheet, ValidationResult
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
    """Write a fixed copy of the request's file, validate it and return the remaining findings.

    ``results`` are those of the file. The returned sheets have the original file name and their
    ``fixes``; other results are returned unchanged. Nothing is written if no sheet was validated.
    Raises the errors of ``write_fixed_copy``.
    """
    sheets = [item for item in results if isinstance(item, ValidatedSheet)]
    if not sheets:
        return list(results)
    with as_xlsx(request.file, [sheet.sheet for sheet in sheets], limits) as workbook:
        read_as = sheets[0].read_as
        if workbook != request.file:
            # Text numbers and dates, normal in a .csv, are findings in the .xlsx and can be fixed.
            converted = validate_sheets(replace(request, file=workbook), catalogue, limits).sheets
            by_name = {(sheet.sheet, sheet.resource_name): sheet for sheet in converted}
            sheets = [by_name[sheet.sheet, sheet.resource_name] for sheet in sheets]
        copies = write_fixed_copy(sheets, target)
    remaining = validate_sheets(replace(request, file=target), catalogue, limits).sheets
    by_name = {(sheet.sheet, sheet.resource_name): sheet for sheet in remaining}
    fixed = [
        replace(
            by_name[sheet.sheet, sheet.resource_name],
            file=request.file,
            fixes=fixes,
            read_as=read_as,
        )
        for sheet, fixes in zip(sheets, copies, strict=True)
    ]
    return [*fixed, *(item for item in results if not isinstance(item, ValidatedSheet))]


def write_fixed_copy(sheets: Sequence[ValidatedSheet], target: Path) -> list[FixedCopy]:
    """Write a copy of a workbook with the certain corrections of its validated sheets.

    Return the fixes of each sheet. The copy is written even if there are none. Raises
    ``WorkbookRefused`` if the workbook cannot be changed, ``UsageError`` if the copy cannot be
    written.
    """
    with edit_package(sheets[0].file) as package:
        copies = [FixedCopy(target, *_fix_sheet(package, sheet)) for sheet in sheets]
        package.save(target)
    return copies


def _fix_sheet(
    package: EditablePackage, sheet: ValidatedSheet
) -> tuple[list[Finding], list[UnfixedCell]]:
    proposed = {_position(f): f for f in sheet.findings if f.corrected is not None and f.cell}
    doubted = {f.column for f in sheet.findings if f.kind.code == "dates-swapped"}
    left = [
        UnfixedCell(finding, _DOUBTED if finding.column in doubted else _OTHERS_DEPEND)
        for finding in sheet.findings
        if finding.corrected is None and finding.kind.code in _BY_CONVENTION
    ]
    if not proposed:
        return [], left
    cells = EditableCells(package, sheet.sheet)
    # A misplaced value is moved: its new cell has a finding, too.
    moves = dict[CellPosition, Finding]()
    for at, f in proposed.items():
        name, value = f.details.get("moved_to"), f.details.get("document")
        if f.row is not None and isinstance(name, str) and isinstance(value, str):
            cell = cell_address(f.row, sheet.columns[name])
            moves[at] = replace(f, column=name, cell=cell, value=None, corrected=value, details={})
    proposed |= {_position(move): move for move in moves.values()}
    reasons = _reasons(proposed, cells)
    for source, finding in moves.items():
        target = _position(finding)
        for one, other in ((source, target), (target, source)):
            if one in reasons:
                reasons.setdefault(other, reasons[one])
    left += [UnfixedCell(proposed[at], reason) for at, reason in reasons.items()]
    fixed = {at: finding for at, finding in proposed.items() if at not in reasons}
    values = {at: f.corrected for at, f in fixed.items() if f.corrected is not None}
    if values:
        cells.write_values(values)
    return list(fixed.values()), left


def _reasons(
    proposed: Mapping[CellPosition, Finding], cells: EditableCells
) -> dict[CellPosition, Text]:
    """Return the reasons for which some of the proposed cells must not be changed."""
    locked = cells.locked_cells(proposed)
    texts = frozenset(p for p, f in proposed.items() if isinstance(f.corrected, str))
    rich = cells.rich_text_cells(texts)
    reasons = dict.fromkeys(locked, _COMPUTED) | dict.fromkeys(rich, _RICH_TEXT)
    # The meaning of a text may depend on the others of its column: fix all of them or none.
    left_whole = {
        (finding.column, finding.kind.code)
        for position, finding in proposed.items()
        if position in locked and finding.kind.code in _BY_CONVENTION
    }
    for position, finding in proposed.items():
        if (finding.column, finding.kind.code) in left_whole:
            reasons.setdefault(position, _FORMULA_DEPENDS)
    return reasons


def _position(finding: Finding) -> CellPosition:
    if finding.cell is None:
        raise AssertionError(finding)
    return cell_position(finding.cell)
