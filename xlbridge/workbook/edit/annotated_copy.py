"""Annotated copy of the analyst's workbook, with every finding marked at its cell.

The cells are kept byte for byte: their colours are conditional formats, so that styles, stored
results of formulas, pictures and everything else stay unchanged.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from lxml import etree

from xlbridge.resources.findings import SEVERITY_WORDS, Finding, Severity
from xlbridge.workbook import style
from xlbridge.workbook.address import CellRange, cell_address, cell_position
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.comments import replace_comments
from xlbridge.workbook.edit.editable_package import edit_package
from xlbridge.workbook.edit.sheets import (
    SHEET_ORDER,
    SheetList,
    edit_sheet_without_cells,
    merged_ranges,
)
from xlbridge.workbook.edit.styles import WorkbookStyles
from xlbridge.workbook.edit.summary_sheet import AnnotationSummary, replace_summary_sheet

MAX_SHOWN = 10_000
"""Maximum number of findings that are marked and listed."""

_CONDITION = '"xlbridge"="xlbridge"'
"""Condition that is always true, and identifies the conditional formats of xlbridge."""

_RANGES_PER_FORMAT = 200


@dataclass(frozen=True, slots=True)
class AnnotatedSheet:
    """Sheet to annotate. ``first_column`` is the zero-based column of marks for findings without a
    cell. ``extra_cells`` are addresses of further cells to colour."""

    name: str
    findings: Sequence[Finding]
    first_column: int = 0
    extra_cells: Sequence[str] = ()


def annotate(
    source: Path, target: Path, sheets: Sequence[AnnotatedSheet], summary: AnnotationSummary
) -> None:
    """Write a copy of ``source`` with the findings of its sheets marked.

    Each cell gets the colour of its worst finding, and a comment with all of them below its own
    comment. A sheet that lists the findings is added and active on opening. The marks of an
    earlier annotation are replaced. Only the first ``MAX_SHOWN`` findings are marked and listed;
    the counts include all.

    Raises ``WorkbookRefused`` if the workbook cannot be copied, ``UsageError`` if the copy cannot
    be written.
    """
    listed: list[tuple[str, Finding]] = []
    with edit_package(source) as package:
        sheet_list, styles = SheetList(package), WorkbookStyles(package)
        for sheet in sheets:
            shown = sheet.findings[: MAX_SHOWN - len(listed)]
            listed += [(sheet.name, finding) for finding in shown]
            part = sheet_list.part(sheet.name)
            with edit_sheet_without_cells(package, part) as worksheet:
                # Mark the visible cell of a merged range.
                merged = merged_ranges(worksheet)
                cells: defaultdict[str, list[Finding]] = defaultdict(list)
                for finding in shown:
                    if finding.row is not None:
                        address = finding.cell or cell_address(finding.row, sheet.first_column)
                        cells[_visible_cell(address, merged)].append(finding)
                severities = dict.fromkeys(sheet.extra_cells, Severity.WARNING)
                severities |= {address: _worst_severity(found) for address, found in cells.items()}
                colour_cells(worksheet, severities, styles)
                remarks = {address: _comment_text(found) for address, found in cells.items()}
                replace_comments(package, part, worksheet, remarks)
        replace_summary_sheet(package, sheet_list, styles, listed, summary)
        styles.save()
        sheet_list.save()
        package.save(target)


def _visible_cell(address: str, merged: Mapping[CellRange, str]) -> str:
    if not merged:
        return address
    row, column = cell_position(address)
    for (top, left, bottom, right), start in merged.items():
        if top <= row <= bottom and left <= column <= right:
            return start
    return address


def _worst_severity(findings: Sequence[Finding]) -> Severity:
    has_error = any(finding.kind.severity is Severity.ERROR for finding in findings)
    return Severity.ERROR if has_error else Severity.WARNING


def colour_cells(
    worksheet: xml.Element,
    severities: Mapping[str, Severity],
    styles: WorkbookStyles,
    last_column: int | None = None,
) -> None:
    """Colour cells by a condition that is always true, replacing earlier colours.

    ``severities`` has the severity of each cell, by address. With ``last_column``, the following
    cells of its row are coloured too, up to that zero-based column.
    """
    for block in worksheet.findall("{*}conditionalFormatting"):
        if any(item.text == _CONDITION for item in block.iter("{*}formula")):
            worksheet.remove(block)
    batches: list[tuple[Severity, Sequence[str]]] = []
    for severity in Severity:
        addresses = [address for address, found in severities.items() if found is severity]
        ranges = list(_ranges(addresses, last_column))
        starts = range(0, len(ranges), _RANGES_PER_FORMAT)
        batches += [(severity, ranges[start : start + _RANGES_PER_FORMAT]) for start in starts]
    for rule in worksheet.iter("{*}cfRule"):
        rule.set("priority", str(int(rule.get("priority", "1")) + len(batches)))
    colours = {
        severity: styles.highlight(fill, style.SEVERITY_FONTS[severity])
        for severity, fill in style.SEVERITY_FILLS.items()
    }
    first = worksheet.find("{*}conditionalFormatting")
    for priority, (severity, batch) in enumerate(batches, start=1):
        tag = xml.tag_like(worksheet, "conditionalFormatting")
        block = etree.Element(tag, sqref=" ".join(batch))
        rule = xml.add_child(block, "cfRule", type="expression", dxfId=colours[severity])
        rule.set("priority", str(priority))
        xml.add_child(rule, "formula").text = _CONDITION
        if first is None:
            xml.insert_in_order(worksheet, block, SHEET_ORDER)
        else:
            # With colour scales on the same cell, LibreOffice applies formats in this order.
            first.addprevious(block)


def _ranges(addresses: Sequence[str], last_column: int | None) -> Iterator[str]:
    """Yield the ranges of vertically adjacent cells, extended to ``last_column`` if given."""
    cells = sorted((column, row) for row, column in map(cell_position, addresses))
    for _, run in groupby(enumerate(cells), key=lambda it: (it[1][0], it[1][1] - it[0])):
        area = [cell for _, cell in run]
        (column, first), (_, last) = area[0], area[-1]
        begin = cell_address(first, column)
        end = cell_address(last, column if last_column is None else last_column)
        yield begin if begin == end else f"{begin}:{end}"


def _comment_text(findings: Sequence[Finding]) -> str:
    return "\n".join(
        f"{SEVERITY_WORDS[finding.kind.severity]}: {finding.message} {finding.hint}"
        for finding in findings
    )
