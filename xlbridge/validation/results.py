"""Results of validating files: validated sheets, refused files, skipped sheets, fixed copies."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.errors import XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Resource
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding, Severity
from xlbridge.settings import WorkbookLimits
from xlbridge.titles import record_row
from xlbridge.validation.cells.contents import BoolArray, Positions, display
from xlbridge.validation.sheet_findings import (
    SheetFindings,
    by_column_and_kind,
    count_errors,
    row_numbers,
    select_rows,
    split_findings,
    without_repeated,
)
from xlbridge.workbook import cell_address, column_letters
from xlbridge.workbook.read import CellColumn


@dataclass(frozen=True, slots=True)
class UnfixedCell:
    """A cell that was not fixed although its value was understood, and the reason."""

    finding: Finding
    reason: Text


@dataclass(frozen=True, slots=True)
class FixedCopy:
    """A fixed copy: the former findings of the fixed cells, which have the new values as their
    ``corrected`` ones, and the cells that were left."""

    file: Path
    fixed: list[Finding]
    left: list[UnfixedCell] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ItemBlock:
    """Columns and headers of one of the items that are side by side in the rows of a list."""

    columns: Mapping[str, int]
    headers: Mapping[str, str]


def numbered_rows(resource: Resource, numbers: pd.DataFrame, count: int) -> BoolArray:
    """Return a mask of the ``count`` rows that have the system's own number of a record."""
    declared = resource.read_back
    if declared is None or numbers.empty:
        return np.zeros(count, dtype=bool)
    whole = numbers.reindex(columns=list(declared.number_columns))
    return whole.notna().all(axis="columns").to_numpy(dtype=bool)


@dataclass(slots=True)
class ValidatedSheet:
    """A validated sheet.

    ``resource``: None only if the workbook is empty and nothing identifies the resource;
    ``frame``: typed columns of the resource, with missing values for empty and unusable cells;
    ``rows``: Excel's row numbers of the frame's rows; ``columns``: zero-based positions in the
    sheet of the columns that are present; ``numbers``: columns of the system's own number of each
    row, if the sheet has them; ``source_cells``: original cells of columns that hold codes or that
    a mapping converts; ``findings``: first those of the layout, then those of cells by row and
    column; ``non_records``: Excel's numbers of the rows that are not records (totals, notes,
    struck-through rows, repeated headers), with the code of the error that each has; their cells
    are not validated, and they are not sent; ``fixes``: the fixed copy, whose remaining findings
    these are; ``read_as``: how a .csv file was read; ``limits``: limits of reading.

    For a mapped sheet, ``headers`` are its own headers by column name, ``constants`` the columns
    that the mapping fills, which are not in ``columns``. For any other, ``titles`` are the names
    or titles in its header, as they stand there. ``named`` are the columns whose cells name records
    of registries, with true for those that accept codes, too; ``words`` those in which words stand
    for values, with these; ``links`` the links that were asked for, once they are filled in.

    ``accepted`` has the number of cells, by code and column, whose finding a person accepted by one
    of ``accepted_texts``; these are remembered under ``acceptance_key``.

    ``children`` are the validated sheets of the records' lists, by the lists' names;
    ``emptied_lists`` names those whose sheets are blank, if records have the system's own number:
    such a sheet was exported, and its rows were deleted. In a mapped sheet, lists may be in the
    rows of their main sheet; ``blocks`` are the items side by side in a row of such a list, and
    ``block_numbers`` tells which of them each row of the frame is. The records of a main sheet may
    be side by side, too.
    """

    file: Path
    resource: Resource | None
    sheet: str
    header_row: int | None = None
    frame: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    rows: Sequence[int] = field(default_factory=list, repr=False)
    columns: dict[str, int] = field(default_factory=dict)
    source_cells: Mapping[str, CellColumn] = field(default_factory=dict, repr=False)
    findings: Sequence[Finding] = field(default_factory=list, repr=False)
    non_records: Mapping[int, str] = field(default_factory=dict)
    numbers: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    fixes: FixedCopy | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    constants: Collection[str] = ()
    named: Mapping[str, bool] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    read_as: Text | None = None
    limits: WorkbookLimits = field(default_factory=WorkbookLimits, repr=False)
    accepted: Mapping[tuple[str, str | None], int] = field(default_factory=dict)
    accepted_texts: Sequence[str] = ()
    acceptance_key: str = ""
    children: Mapping[str, "ValidatedSheet"] = field(default_factory=dict, repr=False)
    emptied_lists: Sequence[str] = ()
    blocks: Sequence[ItemBlock] = ()
    block_numbers: Sequence[int] = ()

    @property
    def resource_name(self) -> str | None:
        """Name of the resource, None if the workbook is empty and nothing identifies it."""
        return self.resource.name if self.resource else None

    @property
    def record_rows(self) -> Sequence[int]:
        """Numbers of the records: their rows, unless several of them share one."""
        if not self.blocks:
            return self.rows
        return list(map(record_row, self.rows, self.block_numbers))

    @property
    def record_columns(self) -> Mapping[str, int]:
        """Positions of the columns; those of the second and later records of a row, where they
        differ, are called ``number.column``."""
        own = {
            f"{number + 1}.{name}": at
            for number, block in enumerate(self.blocks)
            for name, at in block.columns.items()
            if self.columns.get(name) != at
        }
        return {**self.columns, **own}

    @property
    def errors(self) -> int:
        """Number of findings that stop an upload."""
        return count_errors(self.findings)

    def without_rows(self, rows: Collection[int]) -> "ValidatedSheet":
        """Return the sheet without the findings of some rows, by Excel's numbers."""
        if not rows:
            return self
        return replace(self, findings=select_rows(self.findings, rows, invert=True))

    def findings_of(self, rows: Collection[int]) -> Sequence[Finding]:
        """Return the findings of some rows, by Excel's numbers."""
        return select_rows(self.findings, rows)

    def error_findings(self) -> Iterator[Finding]:
        """Yield the findings that stop an upload, in their order."""
        if self.errors == 0:
            return iter(())  # There may be a warning for each cell.
        return (finding for finding in self.findings if finding.kind.severity is Severity.ERROR)

    @property
    def warnings(self) -> int:
        """Number of findings that do not stop an upload."""
        return len(self.findings) - self.errors

    @property
    def ok(self) -> bool:
        """True if the sheet and its child sheets may be uploaded."""
        return self.errors == 0 and all(child.ok for child in self.children.values())

    @property
    def with_children(self) -> "tuple[ValidatedSheet, ...]":
        """The sheet, and its child sheets after it."""
        return (self, *self.children.values())

    @property
    def with_lists(self) -> "ValidatedSheet":
        """The sheet with the rows, columns and findings of the lists that are in its own rows;
        these columns are called ``list.number.column``, by the number of the items side by side."""
        lists = {name: part for name, part in self.children.items() if part.sheet == self.sheet}
        if not lists and not self.blocks:
            return self
        columns, headers = dict(self.columns), dict(self.headers)
        findings, paths = list[Finding](), dict[tuple[str, str | None, str], str]()
        main = self.resource_name or ""
        own = {name.partition(".")[2] for name in self.record_columns.keys() - self.columns.keys()}
        for name in own:
            del columns[name]
        for name, part in {**lists, **({main: self} if self.blocks else {})}.items():
            for number, block in enumerate(part.blocks or [ItemBlock(part.columns, part.headers)]):
                for column, index in block.columns.items():
                    if column in own if part is self else column != KEY:
                        path = f"{name}.{number + 1}.{column}"
                        columns[path], headers[path] = index, block.headers.get(column, column)
                        paths[name, column_letters(index), column] = path
        for name, part in {main: self, **lists}.items():
            for finding in part.findings:
                letters, column = (finding.cell or "").rstrip("0123456789"), finding.column or ""
                found = paths.get((name, letters, column), finding.column)
                findings.append(replace(finding, column=found))
        non_records = {
            row: code for part in lists.values() for row, code in part.non_records.items()
        }
        whole = replace(
            self,
            findings=[],
            columns=columns,
            headers=headers,
            rows=sorted({row for part in (self, *lists.values()) for row in part.rows}),
            non_records={**non_records, **self.non_records},
            children={name: part for name, part in self.children.items() if name not in lists},
            blocks=(),
            block_numbers=(),
        )
        whole.add(findings)
        return whole

    @property
    def titles_with_lists(self) -> Mapping[str, str]:
        """The columns' names or titles as they stand in the sheet's own header, those of its child
        sheets by ``list.name``."""
        of_lists = {
            f"{name}.{column}": title
            for name, child in self.children.items()
            for column, title in (child.titles or child.headers).items()
        }
        return {**(self.titles or self.headers), **of_lists}

    def titled(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings of the sheet for people, with columns called as in its header; those of a
        mapped sheet have its own headers already."""
        if self.resource is None or self.headers:
            yield from findings
            return
        titles = self._titles
        named = partial(self.resource.with_titles, titles=titles)
        for finding in findings:
            column = finding.column and str(titles.get(finding.column, finding.column))
            yield finding.titled(column, lambda text: str(titles.get(text) or named(text)))

    def title_of(self, column: str) -> str:
        """Return a column's name for people, as ``titled`` writes it."""
        return column if self.headers else str(self._titles.get(column, column))

    @property
    def _titles(self) -> Mapping[str, Text | str]:
        return {} if self.resource is None else self.resource.titles_beside(self.titles)

    @property
    def readable(self) -> bool:
        """True if the layout has no error, so that all cells could be read."""
        header = self.header_row
        if header is None:
            return False
        # Findings of the layout come first.
        layout = takewhile(lambda finding: (finding.row or 0) <= header, self.findings)
        return all(finding.kind.severity is not Severity.ERROR for finding in layout)

    def finding(
        self, code: str, column: str, position: int, details: Mapping[str, object]
    ) -> Finding:
        """Return a finding of the cell of a column in the row at ``position`` of ``frame``."""
        row, block = self.rows[position], self.block_at(position)
        index = block.columns.get(column)
        source = self.source_cells.get(column)
        value: Any = self.frame[column].iat[position] if source is None else source.value(row - 1)
        return Finding(
            CATALOGUE[code],
            row=row,
            column=column,
            cell=None if index is None else cell_address(row, index),
            value=None if pd.isna(value) else display(value),
            details=details,
            numeric=isinstance(value, float),
            header=block.headers.get(column),
        )

    def block_at(self, position: int) -> ItemBlock:
        """Return the columns and headers of the row at ``position`` of ``frame``."""
        if self.blocks:
            return self.blocks[self.block_numbers[position]]
        return ItemBlock(self.columns, self.headers)

    def position_of(self, finding: Finding) -> int | None:
        """Return the position in ``frame`` of the row that a finding is about, None without one."""
        if finding.row is None:
            return None
        for at in range(bisect_left(self.rows, finding.row), len(self.rows)):
            index = self.block_at(at).columns.get(finding.column or "")
            if self.rows[at] != finding.row:
                break
            if index is None or finding.cell in {None, cell_address(finding.row, index)}:
                return at
        return None

    def rows_in_error(self, columns: Collection[str] | None = None) -> BoolArray:
        """Return a mask of the rows with an error in one of the ``columns``, or in any."""
        rows = {
            row
            for group in by_column_and_kind(self.findings)
            if group[0].kind.severity is Severity.ERROR
            and (columns is None or group[0].column in columns)
            for row in row_numbers(group)
        }
        return np.isin(self.rows, list(rows))

    @property
    def non_record_mask(self) -> BoolArray:
        """Mask of the rows that are not records."""
        return np.isin(self.rows, list(self.non_records))

    def parent_positions(self, child: "ValidatedSheet") -> Positions:
        """Return the position of the record of each row of a child sheet, -1 if it has none."""
        if KEY not in self.frame or KEY not in child.frame:
            return np.full(len(child.rows), -1, dtype=np.intp)
        keys = self.frame[KEY][~self.non_record_mask].dropna().drop_duplicates()
        indexes = pd.Index(keys).get_indexer(child.frame[KEY])
        # A key that is not found has the index -1, the last element.
        return np.asarray(np.append(keys.index, -1)[indexes], dtype=np.intp)

    @property
    def has_stray_rows(self) -> bool:
        """True if a child sheet has erroneous rows without a record: some record must be
        incomplete without them."""
        for child in self.children.values():
            wrong = child.rows_in_error() & ~child.non_record_mask
            if wrong.any() and (self.parent_positions(child)[wrong] < 0).any():
                return True
        return False

    def add(self, found: Iterable[Finding]) -> None:
        """Add findings of cells in order of row and column."""
        found = list(found)
        if not found:
            return
        header = self.header_row or 0

        def position(finding: Finding) -> tuple[int, int]:
            row = finding.row or 0
            return (row, self.columns.get(finding.column or "", -1)) if row > header else (0, 0)

        self.findings = sorted([*self.findings, *found], key=position)


def join_records(sheets: Sequence[ValidatedSheet]) -> ValidatedSheet:
    """Return the records that are side by side in the rows of a sheet as one sheet; each of the
    ``sheets`` has one record of each row. Findings of cells that they share are reported once."""
    first = sheets[0]
    if len(sheets) == 1 or not any(sheet.rows for sheet in sheets):
        return first
    joined, seen, reported = [], np.empty(0, dtype=np.intc), list[Finding]()
    for sheet in sheets:
        _, cells = split_findings(findings := without_repeated(sheet.findings, reported))
        own = {name for name, at in sheet.columns.items() if first.columns.get(name) != at}
        kept = np.ones(len(findings) - len(cells.layout), dtype=bool)
        for column, positions, indexes in cells.by_column():
            if column.name not in own:
                kept[indexes] = ~np.isin(column.rows[positions], seen)
        findings = cells.cells_at(np.flatnonzero(kept), cells.layout)
        seen = np.union1d(seen, sheet.rows)
        reported += cells.layout
        joined.append(replace(sheet, findings=findings))
    shared = {
        name: cells
        for name, cells in first.source_cells.items()
        if all(sheet.columns.get(name) == first.columns.get(name) for sheet in sheets)
    }
    return replace(join_blocks(joined), source_cells=shared, numbers=pd.DataFrame())


def join_blocks(sheets: Sequence[ValidatedSheet]) -> ValidatedSheet:
    """Return the items of several blocks as the rows of one list, in the order of the sheet's rows;
    each of the ``sheets`` has those of one block."""
    if len(sheets) == 1:
        return sheets[0]
    numbers = np.repeat(np.arange(len(sheets)), [len(sheet.rows) for sheet in sheets])
    rows = np.concatenate([np.array(sheet.rows, dtype=np.intc) for sheet in sheets])
    order = np.lexsort((numbers, rows))
    layouts, cells = zip(*(split_findings(sheet.findings) for sheet in sheets), strict=True)
    return replace(
        sheets[0],
        frame=pd.concat([sheet.frame for sheet in sheets]).iloc[order].reset_index(drop=True),
        rows=rows[order].tolist(),
        source_cells={},
        named={
            name: has_codes
            for name, has_codes in sheets[0].named.items()
            if all(name in sheet.named for sheet in sheets)
        },
        words={
            name: words
            for name, words in sheets[0].words.items()
            if all(sheet.words.get(name) == words for sheet in sheets)
        },
        non_records={row: code for sheet in sheets for row, code in sheet.non_records.items()},
        findings=SheetFindings.joined([one for layout in layouts for one in layout], cells),
        blocks=[ItemBlock(sheet.columns, sheet.headers) for sheet in sheets],
        block_numbers=numbers[order].tolist(),
    )


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that could not be validated at all, and the reason."""

    file: Path
    refusal: XlbridgeError


@dataclass(frozen=True, slots=True)
class SkippedSheet:
    """A sheet that fits no resource."""

    file: Path
    sheet: str

    @property
    def note(self) -> Text:
        """Message that the sheet was skipped."""
        return Text(
            pt="planilha {sheet} não conferida: não serve para nenhum recurso",
            en="sheet {sheet} not checked: it fits no resource",
        ).format(sheet=self.sheet)


ValidationResult = ValidatedSheet | RefusedFile | SkippedSheet


def is_ok(item: ValidationResult) -> bool:
    """Return whether a result has no errors."""
    return isinstance(item, SkippedSheet) or (isinstance(item, ValidatedSheet) and item.ok)
