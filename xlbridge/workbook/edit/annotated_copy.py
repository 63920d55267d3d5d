"""Annotated copy of the analyst's own workbook: every finding is marked at its cell.

The cells themselves are not touched, to the byte: their colours are a conditional format, so
that styles, stored results of formulas, pictures and everything else stay as they are.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from xlbridge.resources.findings import SEVERITY_WORDS, Finding, Severity
from xlbridge.workbook import style
from xlbridge.workbook.address import cell_address, cell_position
from xlbridge.workbook.edit.comments import replace_comments
from xlbridge.workbook.edit.editable_package import (
    EditablePackage,
    Element,
    add_child,
    edit_package,
    find_child,
    local_name,
)
from xlbridge.workbook.edit.sheets import (
    SheetList,
    edit_sheet_without_cells,
    insert_in_order,
    merged_ranges,
    new_element,
)
from xlbridge.workbook.edit.styles import WorkbookStyles
from xlbridge.workbook.edit.summary_sheet import AnnotationSummary, replace_summary_sheet

MOST_SHOWN = 10_000
"""Number of findings that are marked and listed at most."""

_OUR_CONDITION = '"xlbridge"="xlbridge"'
"""A condition that always holds, and that our conditional formats are known by."""

_RANGES_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class AnnotatedSheet:
    """A sheet to mark, by its name; ``first_column`` is the zero-based one in which a finding
    without a cell is marked, in its row. ``remarked`` are the addresses of more cells that are
    coloured, which a finding on another cell tells of."""

    name: str
    findings: Sequence[Finding]
    first_column: int = 0
    remarked: Sequence[str] = ()


def annotate(
    source: Path,
    target: Path,
    sheets: Sequence[AnnotatedSheet],
    summary: AnnotationSummary,
) -> None:
    """Write a copy of ``source`` with the findings of its sheets marked.

    Each cell concerned gets the colour of its gravest finding and a comment that lists all of
    them, below the comment that it had. A sheet that lists the findings is added and shown first
    when the copy is opened. The marks of an earlier annotation are replaced. Only the first
    ``MOST_SHOWN`` findings are marked and listed; the counts are of all.

    Raises ``WorkbookRefused`` when the workbook cannot be copied, ``UsageError`` when the copy
    cannot be written.
    """
    with edit_package(source) as package:
        _annotate_sheets(package, list(_limit_findings(sheets, MOST_SHOWN)), summary)
        package.save(target)


def _limit_findings(sheets: Sequence[AnnotatedSheet], most: int) -> Iterator[AnnotatedSheet]:
    """Yield the sheets with the findings that are shown, no more than ``most`` in all."""
    for sheet in sheets:
        shown = sheet.findings[:most]
        most -= len(shown)
        yield replace(sheet, findings=shown)


def _annotate_sheets(
    package: EditablePackage, shown: Sequence[AnnotatedSheet], summary: AnnotationSummary
) -> None:
    sheets = SheetList(package)
    styles = WorkbookStyles(package)
    for sheet in shown:
        part = sheets.part(sheet.name)
        with edit_sheet_without_cells(package, part) as frame:
            # Of merged cells the first shows what is found.
            merged = merged_ranges(frame)
            cells: defaultdict[str, list[Finding]] = defaultdict(list)
            for finding in sheet.findings:
                if finding.row is None:
                    continue
                address = finding.cell or cell_address(finding.row, sheet.first_column)
                cells[_visible_cell(address, merged)].append(finding)
            _colour_cells(frame, cells, sheet.remarked, styles)
            replace_comments(
                package, part, frame, {a: _comment_text(found) for a, found in cells.items()}
            )
    listed = [(sheet.name, finding) for sheet in shown for finding in sheet.findings]
    replace_summary_sheet(package, sheets, styles, listed, summary)
    styles.put_back()
    sheets.put_back()


def _visible_cell(address: str, merged: Mapping[tuple[int, int, int, int], str]) -> str:
    if not merged:
        return address
    row, column = cell_position(address)
    for (top, left, bottom, right), start in merged.items():
        if top <= row <= bottom and left <= column <= right:
            return start
    return address


def _colour_cells(
    frame: Element,
    cells: Mapping[str, Sequence[Finding]],
    remarked: Sequence[str],
    styles: WorkbookStyles,
) -> None:
    by_severity: dict[Severity, list[str]] = {severity: [] for severity in Severity}
    by_severity[Severity.WARNING] += [address for address in remarked if address not in cells]
    for address, findings in cells.items():
        grave = any(finding.kind.severity is Severity.ERROR for finding in findings)
        by_severity[Severity.ERROR if grave else Severity.WARNING].append(address)
    colour_ranges(
        frame, {severity: list(_ranges(found)) for severity, found in by_severity.items()}, styles
    )


def colour_ranges(
    frame: Element, ranges: Mapping[Severity, Sequence[str]], styles: WorkbookStyles
) -> None:
    """Colour ranges of a sheet by a condition that always holds, in place of earlier ones."""
    for block in [item for item in frame if local_name(item) == "conditionalFormatting"]:
        if any(
            item.text == _OUR_CONDITION for item in block.iter() if local_name(item) == "formula"
        ):
            frame.remove(block)
    ours = [
        (severity, found[start : start + _RANGES_AT_ONCE])
        for severity, found in ranges.items()
        for start in range(0, len(found), _RANGES_AT_ONCE)
    ]
    for rule in frame.iter():
        if local_name(rule) == "cfRule":
            rule.set("priority", str(int(rule.get("priority", "1")) + len(ours)))
    colours = {
        severity: styles.highlight(fill, style.SEVERITY_FONTS[severity])
        for severity, fill in style.SEVERITY_FILLS.items()
    }
    first = find_child(frame, "conditionalFormatting")
    for priority, (severity, batch) in enumerate(ours, start=1):
        block = new_element(frame, "conditionalFormatting", sqref=" ".join(batch))
        rule = add_child(block, "cfRule", type="expression", dxfId=colours[severity])
        rule.set("priority", str(priority))
        add_child(rule, "formula").text = _OUR_CONDITION
        if first is None:
            insert_in_order(frame, block)
        else:
            # LibreOffice goes by this order where a scale of colours covers the cell, too.
            first.addprevious(block)


def _ranges(addresses: Sequence[str]) -> Iterator[str]:
    """Join cells that stand one below the other."""
    places = sorted((column, row) for row, column in map(cell_position, addresses))
    starts = [0] if places else []
    starts += [
        number
        for number, ((column, row), (next_column, next_row)) in enumerate(pairwise(places), start=1)
        if (next_column, next_row) != (column, row + 1)
    ]
    for start, end in pairwise([*starts, len(places)]):
        (column, first), (_, last) = places[start], places[end - 1]
        begin = cell_address(first, column)
        yield begin if first == last else f"{begin}:{cell_address(last, column)}"


def _comment_text(findings: Sequence[Finding]) -> str:
    return "\n".join(
        f"{SEVERITY_WORDS[finding.kind.severity]}: {finding.message} {finding.hint}"
        for finding in findings
    )
