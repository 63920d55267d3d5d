"""The findings of a sheet: those of its layout, then those of its cells."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

from xlbridge.findings import Finding, Severity
from xlbridge.validation.cell_findings import CellFindings, SomeFindings


class SheetFindings(Sequence[Finding]):
    """Reads as a list, and equals one with the same findings."""

    def __init__(self, layout: Sequence[Finding], cells: CellFindings) -> None:
        self.layout = layout
        self.cells = cells

    def __len__(self) -> int:
        return len(self.layout) + len(self.cells)

    @overload
    def __getitem__(self, key: int) -> Finding: ...
    @overload
    def __getitem__(self, key: slice) -> list[Finding]: ...
    def __getitem__(self, key: int | slice) -> Finding | list[Finding]:
        if isinstance(key, slice):
            return [self[place] for place in range(*key.indices(len(self)))]
        place = range(len(self))[key]
        ahead = len(self.layout)
        return self.layout[place] if place < ahead else self.cells[place - ahead]

    def __iter__(self) -> Iterator[Finding]:
        return chain(self.layout, self.cells)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | SheetFindings):
            return NotImplemented
        return len(self) == len(other) and all(map(Finding.__eq__, self, other))

    def __hash__(self) -> int:
        raise TypeError


def errors_among(findings: Sequence[Finding]) -> int:
    """Return how many findings stop an upload."""
    if isinstance(findings, SheetFindings):
        return errors_among(findings.layout) + findings.cells.errors
    return sum(finding.kind.severity is Severity.ERROR for finding in findings)


def rows_of(findings: Sequence[Finding]) -> Iterable[int]:
    """Return Excel's numbers of the rows that findings are in."""
    if isinstance(findings, SomeFindings):
        return findings.rows()
    return [finding.row for finding in findings if finding.row is not None]


def alike(findings: Sequence[Finding]) -> Iterator[Sequence[Finding]]:
    """Yield those of each column that are of one kind, in their order."""
    if isinstance(findings, SheetFindings):
        yield from alike(findings.layout)
        yield from findings.cells.alike()
        return
    groups: defaultdict[tuple[str | None, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.column, finding.kind.code].append(finding)
    yield from groups.values()
