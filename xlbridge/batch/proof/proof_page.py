"""The closing proof as one page for a browser and for paper, without a script."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from xlbridge.batch.proof.content import proof_facts, proof_grids, proof_title
from xlbridge.batch.proof.grids import (
    Grid,
    Heading,
    Line,
    Tone,
    Value,
    grouped_number,
    is_number,
    value_text,
)
from xlbridge.batch.proof.model import Proof
from xlbridge.batch.proof.proof_workbook import write_proof_workbook
from xlbridge.batch.proof.verdict import open_items, proof_state, resource_lines, verdict
from xlbridge.i18n import Text
from xlbridge.report_forms import ReportForms, render_page

MOST_LINES = 200
"""Maximum number of lines of a table on the page."""

_CUT = Text(
    pt="Mostradas {n} de {all} linhas{first}; o arquivo da prova tem todas.",
    en="Showing {n} of {all} lines{first}; the proof's workbook has them all.",
)
_OPEN_FIRST = Text(pt=", antes as que não conferem", en=", first those that do not agree")


def proof_report(proof: Proof) -> ReportForms:
    """Return the forms of a proof, in the active language: a page, and a workbook."""
    return ReportForms(
        page=lambda: _proof_page(proof),
        workbook=lambda target: write_proof_workbook(proof, target),
    )


def _proof_page(proof: Proof) -> str:
    """Return a proof as an HTML page; a table of many lines is cut, and its counts stay exact."""
    return render_page(
        "xlbridge.batch.proof",
        title=proof_title(proof),
        verdict=verdict(proof),
        state=proof_state(proof),
        resource_lines=resource_lines(proof),
        open_items=list(open_items(proof)),
        facts=proof_facts(proof),
        sections=page_sections(proof_grids(proof), _CUT),
    )


def page_sections(grids: Iterable[Grid], cut: Text) -> "list[tuple[Text, list[_PageTable]]]":
    """Return tables as the page has them, by part; ``cut`` is said where lines are left out."""
    return [
        (sheet, [_page_table(grid, cut) for grid in parts])
        for sheet, parts in groupby(grids, key=lambda grid: grid.sheet)
    ]


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell of the page: its label on narrow screens, its text, its CSS classes."""

    label: Text
    text: str
    classes: str


@dataclass(frozen=True, slots=True)
class _PageTable:
    """A table as the page shows it: some of its lines, and a note where lines are left out."""

    grid: Grid
    lines: Sequence[Line]
    cut: Text | None

    def cells(self, line: Line) -> list[_Cell]:
        """Return the cells of a line."""
        return [
            _Cell(
                heading.title,
                "" if value is None else value_text(value),
                _cell_classes(heading, value),
            )
            for heading, value in zip(self.grid.headings, line.values, strict=True)
        ]


def _page_table(grid: Grid, cut: Text) -> _PageTable:
    lines, open_first = _shown_lines(grid.lines)
    body = sum(line.tone is not Tone.SUM for line in grid.lines)
    shown = sum(line.tone is not Tone.SUM for line in lines)
    if shown == body:
        return _PageTable(grid, lines, None)
    first = _OPEN_FIRST if open_first else ""
    told = cut.format(n=grouped_number(shown), all=grouped_number(body), first=first)
    return _PageTable(grid, lines, told)


def _cell_classes(heading: Heading, value: Value) -> str:
    classes = {
        "number": is_number(value),
        "alarm": heading.alarming and bool(value),
        "digest": heading.digest,
        "path": heading.path,
        "zero": value == 0,
        "empty": value is None,
    }
    return " ".join(name for name, applies in classes.items() if applies)


def _shown_lines(lines: Sequence[Line]) -> tuple[list[Line], bool]:
    """Return the lines that the page has, in order, and whether open ones came first.

    Sums are always there, and open lines before others.
    """
    body = [place for place, line in enumerate(lines) if line.tone is not Tone.SUM]
    of_note = [place for place in body if lines[place].tone in (Tone.OPEN, Tone.HEAD)]
    rest = [place for place in body if lines[place].tone is Tone.PLAIN]
    shown = {*[*of_note, *rest][:MOST_LINES]}
    return [
        line for place, line in enumerate(lines) if line.tone is Tone.SUM or place in shown
    ], bool(of_note)
