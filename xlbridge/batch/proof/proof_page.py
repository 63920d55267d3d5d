"""The closing proof as one page for a browser and for paper.

The page stands alone: its style is in it, it has no script and may load nothing. Whatever a
workbook says is shown as text.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from string import Template

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
from xlbridge.batch.proof.verdict import open_items, verdict
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text, active_language

MOST_LINES = 200
"""How many lines of a table the page shows."""

_CUT = Text(
    pt="Mostradas {n} de {all} linhas{first}; o arquivo da prova tem todas.",
    en="Showing {n} of {all} lines{first}; the proof's workbook has them all.",
)
_OPEN_FIRST = Text(pt=", antes as que não conferem", en=", first those that do not agree")


def write_proof_page(proof: Proof, path: Path) -> None:
    """Write a proof as a page, whole or not at all, in the active language.

    Raises ``UsageError`` when the file cannot be written.
    """
    with replace_atomically(path) as temporary:
        temporary.write_text(proof_page(proof), encoding="utf-8", errors="replace", newline="\n")


def proof_page(proof: Proof) -> str:
    """Return a proof as an HTML page; a table of many lines is cut, and its counts stay exact."""
    page = files("xlbridge.batch.proof").joinpath("page")
    style = page.joinpath("page.css").read_text("utf-8")
    return Template(page.joinpath("page.html").read_text("utf-8")).substitute(
        lang=active_language(),
        title=_escaped(proof_title(proof)),
        style=style,
        style_hash=_hash(style),
        body="\n".join(_body(proof)),
    )


def _hash(content: str) -> str:
    """Return how a content security policy names the one content that it lets through."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _escaped(value: object) -> str:
    return escape(str(value))


def _body(proof: Proof) -> Iterator[str]:
    yield f"<h1>{_escaped(proof_title(proof))}</h1>"
    items = [f"<li>{_escaped(item)}</li>" for item in open_items(proof)]
    yield f'<div class="verdict {"open" if items else "good"}"><p>{_escaped(verdict(proof))}</p>'
    if items:
        yield f"<ul>{''.join(items)}</ul>"
    yield "</div>"
    told = (
        f"<dt>{_escaped(name)}</dt><dd>{_escaped(value)}</dd>" for name, value in proof_facts(proof)
    )
    yield f"<section><dl>{''.join(told)}</dl></section>"
    for sheet, of_sheet in groupby(proof_grids(proof), key=lambda grid: grid.sheet):
        yield f"<section><h2>{_escaped(sheet)}</h2>"
        for grid in of_sheet:
            yield from _grid_html(grid)
        yield "</section>"


def _grid_html(grid: Grid) -> Iterator[str]:
    if grid.title is not None:
        yield f"<h3>{_escaped(grid.title)}</h3>"
    if grid.about is not None:
        yield f'<p class="quiet">{_escaped(grid.about)}</p>'
    if not grid.lines:
        yield f'<p class="none">{_escaped(grid.none)}</p>'
        return
    lines, first = _shown_lines(grid.lines)
    heads = [_head(grid, place) for place in range(len(grid.headings))]
    yield '<div class="wide"><table>'
    yield f"<thead><tr>{''.join(heads)}</tr></thead><tbody>"
    for line in lines:
        yield _line(grid.headings, line)
    yield "</tbody></table></div>"
    body = sum(line.tone is not Tone.SUM for line in grid.lines)
    kept = sum(line.tone is not Tone.SUM for line in lines)
    if kept < body:
        cut = _CUT.format(
            n=grouped_number(kept), all=grouped_number(body), first=_OPEN_FIRST if first else ""
        )
        yield f'<p class="cut">{_escaped(cut)}</p>'


def _shown_lines(lines: Sequence[Line]) -> tuple[list[Line], bool]:
    """Return the lines that the page has, in order, and whether open ones came first.

    Sums are always there, and open lines before others.
    """
    body = [place for place, line in enumerate(lines) if line.tone is not Tone.SUM]
    of_note = [place for place in body if lines[place].tone in (Tone.OPEN, Tone.HEAD)]
    rest = [place for place in body if lines[place].tone is Tone.PLAIN]
    kept = {*[*of_note, *rest][:MOST_LINES]}
    return [
        line for place, line in enumerate(lines) if line.tone is Tone.SUM or place in kept
    ], bool(of_note)


def _head(grid: Grid, place: int) -> str:
    name = ' class="number"' if grid.has_numbers(place) else ""
    return f"<th{name}>{_escaped(grid.headings[place].title)}</th>"


def _line(headings: Sequence[Heading], line: Line) -> str:
    cells = "".join(
        _cell(heading, value) for heading, value in zip(headings, line.values, strict=True)
    )
    return f'<tr class="{line.tone}">{cells}</tr>'


def _cell(heading: Heading, value: Value) -> str:
    names = ["number"] if is_number(value) else []
    names += ["alarm"] if heading.alarming and value else []
    names += ["digest"] if heading.digest else []
    names += ["path"] if heading.path else []
    names += ["zero"] if value == 0 else []
    names += ["empty"] if value is None else []
    classes = f' class="{" ".join(names)}"' if names else ""
    told = "" if value is None else _escaped(value_text(value))
    return f'<td{classes} data-label="{_escaped(heading.title)}">{told}</td>'
