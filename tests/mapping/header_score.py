"""Score of the proposals for 403 foreign layouts; ``python tests/mapping/header_score.py``
prints it.

A header is right if the columns that a person wrote down for it are proposed. A column marked as
optional may be proposed or not, such as one of a name and a document that identify one client.
"""

import datetime as dt
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml
from xlsxwriter import Workbook

from xlbridge.errors import UsageError
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation.mapping import MappingProposal, propose_mapping
from xlbridge.workbook.read import read_workbook

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

from sheets import write_page, write_rows  # noqa: E402 - found by the path set above

HALVES = {
    "known": (
        "headers_known",
        "headers_later",
        "layouts_known",
        "layouts_known_later",
        "layouts_known_latest",
        "layouts_known_further",
        "layouts_known_systems",
        "layouts_known_systems_later",
    ),
    "set aside": ("headers_set_aside", "layouts_set_aside", "layouts_set_aside_later"),
    "adversarial": ("layouts_adversarial",),
}
"""Files of each half, and of sheets whose headers mislead; nothing was changed on account of those
set aside."""

_SHEETS = 40
_OPTIONAL = "?"
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")


@dataclass(frozen=True)
class Layout:
    """Sheet of another system, with the columns that each of its headers means.

    ``optional`` has those that may be proposed or not.
    """

    what: str
    resource: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    expected: dict[str, frozenset[str]]
    optional: dict[str, frozenset[str]]

    def write(self, folder: Path, name: str) -> Path:
        return write_rows(folder / f"{name}.xlsx", self.header, self.rows)


Proposed = tuple[Layout, MappingProposal]


@cache
def layouts(half: str) -> Sequence[Layout]:
    """Return the layouts of a half."""
    contents = (yaml.safe_load((HERE / f"{name}.yaml").read_text("utf-8")) for name in HALVES[half])
    return [_layout(sheet) for content in contents for sheet in content]


def _layout(sheet: dict[str, Any]) -> Layout:
    if "columns" in sheet:
        lines = [
            [part.strip() for part in line.split(" | ")]
            for line in sheet["columns"].strip().splitlines()
        ]
        header = [line[0] for line in lines]
        marked = {name: [] if names == "-" else names.split("+") for name, names, *_ in lines}
        rows = [list(row) for row in zip(*(map(_value, line[2:]) for line in lines), strict=True)]
    else:
        header, *rows = sheet["rows"]
        assert list(sheet["expect"]) == header, sheet["what"]
        marked = {
            name: [names] if isinstance(names, str) else names or []
            for name, names in sheet["expect"].items()
        }
    return Layout(
        sheet["what"],
        sheet["resource"],
        header,
        rows,
        {name: frozenset(n for n in names if _OPTIONAL not in n) for name, names in marked.items()},
        {
            name: frozenset(n.strip(_OPTIONAL) for n in names if _OPTIONAL in n)
            for name, names in marked.items()
        },
    )


def _value(text: str) -> object:
    """Return a cell: a plain number is one, 2026-10-31 a date, anything else a text."""
    if text.startswith('"'):
        return text.strip('"')
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return text


class Grade(StrEnum):
    """Grade of the proposal for a header."""

    RIGHT = "right"
    MISSING = "not proposed"
    DOUBTFUL = "wrong but doubtful"
    SURE = "wrong and sure"


@dataclass(frozen=True)
class HeaderScore:
    """One header: the columns that are expected, optional and proposed, and the sure ones."""

    what: str
    header: str
    expected: frozenset[str]
    optional: frozenset[str]
    proposed: frozenset[str]
    sure: frozenset[str]

    @property
    def grade(self) -> Grade:
        allowed = self.expected | self.optional
        if self.sure - allowed:
            return Grade.SURE
        if self.proposed - allowed:
            return Grade.DOUBTFUL
        return Grade.RIGHT if self.expected <= self.proposed else Grade.MISSING


def proposals(sheets: Sequence[Layout], catalogue: Catalogue) -> Iterator[Proposed]:
    """Yield each layout with the proposal for its resource, from workbooks with many sheets."""
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(sheets), _SHEETS):
            path, some = Path(folder, f"{start}.xlsx"), sheets[start : start + _SHEETS]
            with Workbook(path) as book:
                for number, layout in enumerate(some):
                    write_page(book, str(number), layout.header, layout.rows)
            workbook = read_workbook(path, WorkbookLimits())
            for layout, cells in zip(some, workbook.sheets, strict=True):
                yield (
                    layout,
                    propose_mapping(
                        path,
                        catalogue,
                        WorkbookLimits(),
                        resource=layout.resource,
                        workbook=partial(replace, workbook, sheets=[cells]),
                    ),
                )


def scores(proposed: Iterable[Proposed]) -> Iterator[HeaderScore]:
    """Yield the score of each header of the layouts."""
    for layout, proposal in proposed:
        for header in layout.header:
            columns = [c for c in proposal.columns if header in c.sources]
            yield HeaderScore(
                layout.what,
                header,
                layout.expected[header],
                layout.optional[header],
                frozenset(c.name for c in columns),
                frozenset(c.name for c in columns if c.confidence == "high"),
            )


def detected_resources(
    sheets: Iterable[Layout], catalogue: Catalogue
) -> Iterator[tuple[Layout, str | None]]:
    """Yield each layout with the detected resource, None if it is unclear; the name of the file
    says nothing."""
    with tempfile.TemporaryDirectory() as folder:
        for number, layout in enumerate(sheets):
            path = layout.write(Path(folder), str(number))
            try:
                proposal = propose_mapping(path, catalogue, WorkbookLimits())
            except UsageError:
                yield layout, None
            else:
                yield layout, proposal.resource.name


def main() -> None:
    """Print the score of each half, and the mistakes of the known one."""
    catalogue = load_catalogue(HERE / "no-own-schemas")
    for half in HALVES:
        if half not in (sys.argv[1:] or HALVES):
            continue
        found = list(scores(proposals(layouts(half), catalogue)))
        print(f"{half}: {len(layouts(half))} layouts, {len(found)} headers")
        for grade in Grade:
            count = sum(score.grade == grade for score in found)
            print(f"  {grade}: {count} ({100 * count / len(found):.1f} %)")
        for score in found if half != "set aside" else ():
            if score.grade != Grade.RIGHT:
                details = f"{sorted(score.proposed)}, expected {sorted(score.expected)}"
                print(f"    {score.grade}: {score.what}: {score.header}: {details}")
        detected = list(detected_resources(layouts(half), catalogue))
        right = sum(name == layout.resource for layout, name in detected)
        unclear = sum(name is None for _, name in detected)
        print(
            f"  resource: {right} right, {unclear} unclear, {len(detected) - right - unclear} wrong"
        )
        for layout, name in detected if half != "set aside" else ():
            if name != layout.resource:
                print(f"    {layout.what}: {name}, expected {layout.resource}")


if __name__ == "__main__":
    main()
