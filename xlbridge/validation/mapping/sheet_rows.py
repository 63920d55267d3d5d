"""Rows of a mapped sheet: those that are left out by their words, and those of one record.

A sheet may have a row for each item of a record, in which the record's own cells are repeated. The
first row with a key becomes the record, all of them become the rows of its lists. Or a row has
several records side by side, such as the titles of its instalments.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from xlbridge.resources import KEY, Kind, Resource
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.validation.cells.contents import MAX_LISTED, quote_some, quoted, sign_of
from xlbridge.validation.cells.suspect_cells import FormatLookup
from xlbridge.validation.cells.text_parsing import NOTHING, is_of_other_sign, shown_text
from xlbridge.validation.header_row import Header
from xlbridge.validation.mapping.application import (
    ConvertedCells,
    MappedSheet,
    map_rows,
)
from xlbridge.validation.mapping.mapping_file import (
    HeaderCandidate,
    MappedColumn,
    SheetMapping,
    find_header,
    value_key,
)
from xlbridge.validation.request import ValidationRequest
from xlbridge.validation.sheet_choice import no_visible_sheet
from xlbridge.workbook import cell_address, column_letters
from xlbridge.workbook.read import SheetCells, WorkbookCells


def map_sheet(
    mapping: SheetMapping,
    resource: Resource,
    request: ValidationRequest,
    workbook: WorkbookCells,
    format_lookup: Callable[[SheetCells], FormatLookup],
) -> "tuple[Sequence[MappedSheet], MappedLists]":
    """Apply a mapping to the sheet of a workbook that has its header; return its records, a sheet
    for each of those that are side by side in a row, and what their lists are read from.

    ``format_lookup`` returns the lookup of the number formats of a sheet.

    Raises ``UsageError`` if the header has changed.
    """
    if not workbook.sheets:
        raise no_visible_sheet(workbook.hidden)
    found = find_header(request.file, mapping, workbook, request.sheet)
    left_out, findings = _rows_left_out(mapping, found)
    firsts = _first_rows(mapping, found, left_out)
    lists = MappedLists(mapping, resource, found, format_lookup(found.cells), firsts)
    if mapping.lists and mapping.records is None:
        left_out |= {row for row in found.rows if row not in firsts}
    blocks = ({},) if mapping.records is None else mapping.records.items
    records = []
    for number, block in enumerate(blocks, start=1):
        columns = {column.name: column for column in mapping.columns} | dict(block)
        left = left_out | lists.repeated | lists.empty(block, blocks)
        main = map_rows(columns.values(), resource, found, lists.formats_of, left)
        if len(blocks) > 1:
            lists.report_incomplete(main.header, resource, block, number)
        main.header.findings.extend([*findings, *_missing_columns(mapping, resource, main.header)])
        main = replace(main, choice=replace(main.choice, hidden=workbook.hidden))
        header = replace(main.header, dates=lists.dates, shares_rows=bool(mapping.lists))
        records.append(replace(main, header=header))
    return records, lists


def _missing_columns(
    mapping: SheetMapping, resource: Resource, header: Header
) -> Iterator[Finding]:
    """Yield the required columns that a mapping does not supply."""
    for name in resource.required:
        if name not in header.columns and name not in header.constants:
            details = {"column": name, "mapping": str(mapping.path)}
            kind = CATALOGUE["mapping-column-missing"]
            yield Finding(kind, header.row, name, None, None, details)


def _rows_left_out(mapping: SheetMapping, found: HeaderCandidate) -> tuple[set[int], list[Finding]]:
    """Return the rows that a mapping leaves out, Excel's numbers, and the findings: one for each
    word that the mapping does not know, and one of all rows that are left out by a column.

    An empty cell leaves nothing out: it may be that of a total.
    """
    cells, left_out, findings = found.cells, set[int](), list[Finding]()

    def report(text: str, left: Mapping[str, int]) -> None:
        if left:
            words = ", ".join(f"{word} ({count})" for word, count in left.items())
            details = {"header": quoted(text), "words": words}
            kind = CATALOGUE["mapping-rows-left-out"]
            findings.append(Finding(kind, found.position + 1, None, None, None, details))

    for text, words in mapping.rows.items():
        index, known = found.index(text), {value_key(word): it for word, it in words.items()}
        left = Counter[str]()
        for row in found.rows:
            value = cells.columns[index].value(row - 1)
            shown = shown_text(value)
            kept = known.get(value_key(shown), not shown)
            if shown and value_key(shown) not in known:
                details = {"known": quote_some(words, MAX_LISTED)}
                cell = cell_address(row, cells.first_column + index)
                kind = CATALOGUE["mapping-value-unknown"]
                findings.append(Finding(kind, row, None, cell, shown, details, header=text))
            elif not kept:
                left_out.add(row)
                left[shown] += 1
        report(text, left)
    for mapped in mapping.columns:
        if mapped.sign is None:
            continue
        text = mapped.sources[0]
        column, left = cells.columns[found.index(text)], Counter[str]()
        for row in found.rows:
            value = column.value(row - 1)
            if row not in left_out and is_of_other_sign(value, mapped.sign):
                left_out.add(row)
                is_zero = NOTHING.fullmatch(shown_text(value))
                left["0" if is_zero else "+" if sign_of(value) == "positive" else "-"] += 1
        report(text, left)
    return left_out, findings


def _first_rows(
    mapping: SheetMapping, found: HeaderCandidate, left_out: Set[int]
) -> Mapping[int, int]:
    """Return the first row of the record of each row that is read, none of a sheet without lists; a
    row without a key is a record of its own, which lacks it.

    A row that leaves the words empty by which its record is left out is left out as well. A key
    that is filled ``down`` is the one above.
    """
    if not mapping.lists or mapping.records is not None:
        return {}
    (key,) = (column for column in mapping.columns if column.name == KEY)
    columns = [found.cells.columns[found.index(text)] for text in key.sources]
    words = [found.cells.columns[found.index(text)] for text in mapping.rows]
    firsts, known, gone = {}, dict[tuple[str, ...], int](), set[tuple[str, ...]]()
    texts: tuple[str, ...] = ()
    for row in found.rows:
        above, texts = texts, tuple(shown_text(column.value(row - 1)) for column in columns)
        if key.down and not any(texts):
            texts = above or texts
        if row in left_out:
            gone.add(texts)
        elif texts not in gone or any(shown_text(column.value(row - 1)) for column in words):
            firsts[row] = known.setdefault(texts, row) if any(texts) else row
    return firsts


@dataclass(frozen=True)
class MappedLists:
    """Source of the lists of a mapped sheet's records: ``firsts`` has the first row of the
    record of each row that is not left out. Rows are Excel's numbers."""

    mapping: SheetMapping
    resource: Resource
    found: HeaderCandidate
    formats_of: FormatLookup
    firsts: Mapping[int, int]

    @property
    def repeated(self) -> set[int]:
        """Rows that repeat the cells of their record, all but its first one."""
        return {row for row, first in self.firsts.items() if row != first}

    def blocks(self, child: Resource, keys: Mapping[int, str | None]) -> Iterator[MappedSheet]:
        """Yield the items of a list, a sheet for each of the items that are side by side.

        ``keys`` has the keys of the records by their rows, None if it is unusable; a record that
        is missing there has none.
        """
        declared = self.mapping.lists[child.sheet]
        key = next(column for column in self.mapping.columns if column.name == KEY)
        usable = {row for row, first in self.firsts.items() if keys.get(first, "") is not None}
        usable -= self.repeated if declared.once else set()
        height = self.found.cells.height
        texts = [keys.get(self.firsts.get(row, 0)) or "" for row in range(1, height + 1)]
        texts[self.found.position] = key.sources[0]
        for number, block in enumerate(declared.items, start=1):
            left = set(range(self.found.position + 2, height + 1)) - usable | self.empty(
                block, declared.items
            )
            given = [(key, ConvertedCells([*texts]))]
            mapped = map_rows(block.values(), child, self.found, self.formats_of, left, given)
            if len(declared.items) > 1:
                self.report_incomplete(mapped.header, child, block, number)
            mapped.header.findings.extend(_missing_columns(self.mapping, child, mapped.header))
            yield replace(mapped, header=replace(mapped.header, dates=self.dates, shares_rows=True))

    def empty(
        self, block: Mapping[str, MappedColumn], blocks: Sequence[Mapping[str, MappedColumn]]
    ) -> set[int]:
        """Return the rows that have nothing of an item but zeros, in the columns that it does not
        share with the other ``blocks``."""
        texts = {text for column in block.values() for text in column.sources}
        uses = Counter(
            text
            for one in blocks
            for text in {text for column in one.values() for text in column.sources}
        )
        columns = [self.found.cells.columns[self.found.index(t)] for t in texts if uses[t] == 1]
        return {
            row
            for row in (self.found.rows if columns else ())
            if all(NOTHING.fullmatch(shown_text(column.value(row - 1))) for column in columns)
        }

    def report_incomplete(
        self, header: Header, resource: Resource, block: Mapping[str, MappedColumn], number: int
    ) -> None:
        """Report the items with a due date and no amount, or the reverse, at the cell that has
        nothing; ``number`` is that of the item, from one on."""
        kinds = Kind.DATE, Kind.MONEY
        pair = {
            name: self.found.index(column.source)
            for name, column in block.items()
            if column.source is not None and resource.by_name[name].kind in kinds
        }
        rows = [row for row in self.found.rows if row not in header.left_out]
        for name, index in pair.items() if len(pair) == len(kinds) else ():
            (other,) = (one for one in pair if one != name)
            details = {"column": resource.by_name[name].title, "n": number}
            details["others"] = resource.by_name[other].title
            cells, theirs = self.found.cells.columns[index], self.found.cells.columns[pair[other]]
            missing = {
                row: ("mapping-item-incomplete", details)
                for row in rows
                if NOTHING.fullmatch(shown_text(cells.value(row - 1)))
                and not NOTHING.fullmatch(shown_text(theirs.value(row - 1)))
            }
            header.unusable[name] = {**header.unusable.get(name, {}), **missing}

    @cached_property
    def dates(self) -> frozenset[int]:
        """Indexes of the columns with dates, each of which may prove the order of the others."""
        parts = {part.sheet: part.by_name for part in self.resource.children}
        parts[self.resource.name] = self.resource.by_name
        return frozenset(
            self.found.index(mapped.sources[0])
            for path, mapped in self.mapping.all_columns
            if mapped.is_direct
            and (self.resource.by_name if path[0] == "columns" else parts[str(path[1])])[
                mapped.name
            ].kind
            is Kind.DATE
        )

    def contradictions(self) -> Iterator[Finding]:
        """Yield a finding for each cell of a record that its other rows repeat differently."""
        cells, rows_of = self.found.cells, defaultdict[int, list[int]](list)
        for row in sorted(self.repeated):
            rows_of[self.firsts[row]].append(row)
        once = [one for one in self.mapping.lists.values() if one.once]
        listed = (column for one in once for block in one.items for column in block.values())
        seen = set[str]()
        for mapped in (*self.mapping.columns, *listed):
            for text in (text for text in mapped.sources if text not in seen):
                seen.add(text)
                column = cells.columns[index := self.found.index(text)]
                letters = column_letters(cells.first_column + index)
                for first, rows in rows_of.items():
                    shown = shown_text(column.value(first - 1))
                    texts = {f"{letters}{row}": shown_text(column.value(row - 1)) for row in rows}
                    others = {cell: it for cell, it in texts.items() if it and it != shown}
                    if others:
                        listed_cells = [f"{cell} ({quoted(it)})" for cell, it in others.items()]
                        more = " …" if len(listed_cells) > MAX_LISTED else ""
                        details = {"others": ", ".join(listed_cells[:MAX_LISTED]) + more}
                        kind = CATALOGUE["mapping-rows-contradict"]
                        cell = f"{letters}{first}"
                        yield Finding(kind, first, mapped.name, cell, shown, details, header=text)
