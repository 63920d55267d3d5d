"""A copy of the analyst's own workbook in which every finding is marked where it stands."""

import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import openpyxl
from openpyxl.cell.cell import Cell, MergedCell
from openpyxl.comments import Comment
from openpyxl.styles import PatternFill
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from xlbridge.errors import WorkbookRefused
from xlbridge.findings import SEVERITY_WORDS, Finding, Severity
from xlbridge.i18n import Text
from xlbridge.workbook import style
from xlbridge.workbook.atomic import replacing
from xlbridge.workbook.cell_text import cell_text
from xlbridge.workbook.summary_sheet import Summary, replace_summary_sheet

MOST_SHOWN = 10_000
"""How many findings are marked and listed; the counts in the summary are always of all."""

_OURS_BELOW = "——— xlbridge ———"
_COMMENT_WIDTH, _LINE_HEIGHT, _LINE_LENGTH = 340, 18, 50

_FILLS = {
    severity: PatternFill("solid", fgColor=colour)
    for severity, colour in style.SEVERITY_FILLS.items()
}


def annotate(
    source: Path, target: Path, sheet: str, findings: Sequence[Finding], summary: Summary
) -> None:
    """Write a copy of ``source`` with the findings of one of its sheets marked.

    Each cell concerned gets the colour of its gravest finding and a comment that tells all of
    them, below the comment that it had. A sheet that lists the findings is added and shown first
    when the copy is opened. The marks of an earlier annotation are replaced. Only the first
    ``MOST_SHOWN`` findings are marked and listed.

    Raises ``WorkbookRefused`` when the workbook cannot be copied, ``UsageError`` when the copy
    cannot be written.
    """
    book, marked = _load(source, sheet)
    shown = findings[:MOST_SHOWN]
    _remove_earlier_marks(marked)
    for cell, concerned in _by_cell(marked, shown):
        _mark(cell, concerned)
    _fit_comments(book)
    replace_summary_sheet(book, sheet, shown, summary)
    with replacing(target) as temporary:
        book.save(temporary)


def _load(source: Path, sheet: str) -> tuple[Workbook, Worksheet]:
    try:
        with warnings.catch_warnings():
            # What openpyxl cannot keep it says in English, to developers.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(source, rich_text=True)
        return book, book[sheet]
    except Exception as error:
        # The validator's reader takes more than openpyxl, which raises anything at all.
        raise WorkbookRefused(
            "unreadable",
            Text(
                pt="{source} pode ser conferida, mas não copiada com marcas.",
                en="{source} can be checked, but not copied with marks.",
            ).format(source=source),
            Text(
                pt="Abra-a no Excel, salve de novo como .xlsx e tente outra vez.",
                en="Open it in Excel, save it again as .xlsx and try once more.",
            ),
        ) from error


def _remove_earlier_marks(sheet: Worksheet) -> None:
    for row in sheet.iter_rows():
        for cell in row:
            if cell.comment is None or _OURS_BELOW not in cell.comment.text:
                continue
            theirs = _theirs(cell.comment)
            cell.comment = _comment(theirs, cell.comment.author) if theirs else None
            if str(cell.fill.fgColor.rgb)[-6:] in style.SEVERITY_FILLS.values():
                cell.fill = PatternFill()


def _by_cell(
    sheet: Worksheet, findings: Iterable[Finding]
) -> Iterable[tuple[Cell, Sequence[Finding]]]:
    concerned: defaultdict[Cell, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.cell is not None:
            concerned[_visible(sheet, finding.cell)].append(finding)
        elif finding.row is not None:
            concerned[_first_filled(sheet, finding.row)].append(finding)
    return concerned.items()


def _visible(sheet: Worksheet, address: str) -> Cell:
    """Return the cell at an address; of merged cells the one that shows."""
    cell: Cell | MergedCell = sheet[address]
    if isinstance(cell, MergedCell):
        merged = next(r for r in sheet.merged_cells.ranges if address in r)
        return _visible(sheet, merged.start_cell.coordinate)
    return cell


def _first_filled(sheet: Worksheet, row: int) -> Cell:
    filled = (cell for cell in sheet[row] if cell.value is not None)
    return _visible(sheet, next(filled, sheet.cell(row, 1)).coordinate)


def _mark(cell: Cell, findings: Sequence[Finding]) -> None:
    severities = {finding.kind.severity for finding in findings}
    cell.fill = _FILLS[Severity.ERROR if Severity.ERROR in severities else Severity.WARNING]
    remarks = [
        f"{SEVERITY_WORDS[finding.kind.severity]}: {finding.message} {finding.hint}"
        for finding in findings
    ]
    theirs = _theirs(cell.comment) if cell.comment else ""
    text = "\n".join(filter(None, (theirs, _OURS_BELOW, *remarks)))
    cell.comment = _comment(text, cell.comment.author if cell.comment else "xlbridge")


def _theirs(comment: Comment) -> str:
    return comment.text.partition(_OURS_BELOW)[0].rstrip()


def _comment(text: str, author: str | None) -> Comment:
    return Comment(cell_text(text), author or "")


def _fit_comments(book: Workbook) -> None:
    """Size every comment to its text: openpyxl forgets the sizes that they had."""
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.comment is not None:
                    lines = cell.comment.text.splitlines()
                    count = sum(max(1, math.ceil(len(line) / _LINE_LENGTH)) for line in lines)
                    cell.comment.width = _COMMENT_WIDTH
                    cell.comment.height = (count + 1) * _LINE_HEIGHT
