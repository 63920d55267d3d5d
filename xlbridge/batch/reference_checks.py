"""Reference checks: records that cells refer to must be in the batch or in the remote system."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.files import matching_files
from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.checks import is_one_of
from xlbridge.resources.findings import Finding
from xlbridge.resources.links import key_fields
from xlbridge.resources.references import REFERENCES, Link, SheetLink, registry_named
from xlbridge.upload.lookup import (
    LinkResolver,
    ReferenceProblem,
    ambiguous_link,
    name_keys,
    texts_of_column,
)
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.cells import ColumnValues
from xlbridge.validation.cross_sheet import cell_reference, values_of

_MAX_ROWS_NAMED = 3


class ProvidedKeys:
    """Keys of the registry records that the rows of a batch create.

    With a ``link`` the keys are values of its fields, without one they are codes. A row with an
    error, or in a sheet with a layout error, does not provide a usable record. Rows are numbered
    across all sheets.
    """

    def __init__(
        self, registry: str, link: Link | None, kind: Kind, sheets: Sequence[ValidatedSheet]
    ) -> None:
        self._link, self._kind = link, kind
        self._sheets = [sheet for sheet in sheets if _key_columns(sheet, registry, link)]
        self._columns = [_key_columns(sheet, registry, link) for sheet in self._sheets]
        self._first_rows = [0, *accumulate(len(sheet.rows) for sheet in self._sheets)]
        # As bytes, whose items are read faster than those of an array.
        good = [~sheet.rows_in_error() & sheet.readable for sheet in self._sheets]
        self._good = b"".join(flags.tobytes() for flags in good)
        active = REFERENCES[registry].active or ""
        inactive = (
            sheet.frame[active].eq(False).fillna(value=False).to_numpy(dtype=bool)
            if active in sheet.frame
            else np.zeros(len(sheet.rows), dtype=bool)
            for sheet in self._sheets
        )
        self._inactive = b"".join(flags.tobytes() for flags in inactive)
        self._rows_of: dict[str, list[int]] = {}
        for first, sheet, columns in zip(
            self._first_rows, self._sheets, self._columns, strict=False
        ):
            for values in _key_values(sheet, columns, link):
                for row, value in enumerate(values, start=first):
                    if not pd.isna(value):
                        for key in self._keys_of(value):
                            self._rows_of.setdefault(key, []).append(row)

    def __bool__(self) -> bool:
        """Return whether any sheet of the batch creates records of the registry."""
        return bool(self._sheets)

    def __contains__(self, value: str) -> bool:
        return any(key in self._rows_of for key in self._keys_of(value))

    def problem(self, value: str, seen_from: ValidatedSheet) -> ReferenceProblem | None:
        """Return the problem of a value whose rows provide no usable record, None if they do."""
        rows: list[int] = []
        for key in self._keys_of(value):
            rows += self._rows_of.get(key, ())
        if len(rows) > 1:
            rows = sorted(set(rows))
        good = [row for row in rows if self._good[row]]
        if not good:
            cell = self._cell_of(rows[0], value, seen_from)
            return ReferenceProblem("reference-waits", {"place": cell})
        if self._link is not None and len(good) > 1:
            first = good[:_MAX_ROWS_NAMED]
            cells = [self._cell_of(row, value, seen_from) for row in first]
            return ambiguous_link(self._link, cells)
        inactive = next((row for row in good if self._inactive[row]), None)
        if inactive is None:
            return None
        cell = self._cell_of(inactive, value, seen_from)
        return ReferenceProblem("reference-inactive-in-batch", {"place": cell})

    def _keys_of(self, value: object) -> tuple[str, ...]:
        if self._link is None:
            return (str(value).strip(),)
        return name_keys(self._link, self._kind, value)

    def _cell_of(self, row: int, value: str, seen_from: ValidatedSheet) -> str:
        owner = bisect_right(self._first_rows, row) - 1
        sheet, position = self._sheets[owner], row - self._first_rows[owner]
        keys = set(self._keys_of(value))
        cells: dict[str, Any] = {
            name: sheet.frame[name].iat[position] for name in self._columns[owner]
        }
        column = next(
            name
            for name, cell in cells.items()
            if not pd.isna(cell) and not keys.isdisjoint(self._keys_of(cell))
        )
        return cell_reference(sheet, column, position, seen_from)


def _key_columns(sheet: ValidatedSheet, registry: str, link: Link | None) -> tuple[str, ...]:
    """Return the columns of a sheet with the keys of the registry records that it creates."""
    resource = sheet.resource
    if resource is None:
        return ()
    if link is None:
        names = [column.name for column in resource.columns if column.registers == registry]
    elif registry_named(resource.name) == registry:
        fields = _name_fields(resource, link)
        names = [name for name, field in fields.items() if field in link.fields]
    else:
        names = []
    return tuple(name for name in names if name in sheet.columns)


def _name_fields(resource: Resource, link: Link) -> dict[str, str]:
    """Return the columns of a resource that identify its records, with their fields."""
    label = REFERENCES[link.registry].label
    labels = {label: label} if link.is_loose and label in resource.by_name else {}
    return {**labels, **key_fields(resource)}


def _key_values(
    sheet: ValidatedSheet, columns: Sequence[str], link: Link | None
) -> Iterator[Iterable[Any]]:
    """Yield the keys of all rows' records, once for each field of the registry's listing.

    Of several columns that share a field it is the one whose lookup condition holds, else the
    first with a value.
    """
    frame, groups = sheet.frame, [tuple(columns)]
    read_back = None
    if link is not None and sheet.resource is not None:
        fields, read_back = _name_fields(sheet.resource, link), sheet.resource.read_back
        groups = [tuple(n for n in columns if fields[n] == field) for field in link.fields]
    for group in filter(None, groups):
        values = pd.Series(None, index=frame.index, dtype=object)
        for lookup in () if read_back is None else read_back.lookups:
            for column in group:
                if tuple(lookup.key) == (column,):
                    applies = values.isna()
                    for other, allowed in lookup.when.items():
                        applies &= is_one_of(frame, other, allowed)
                    values = values.mask(applies, frame[column].astype(object))
        for column in group:
            values = values.mask(values.isna(), frame[column].astype(object))
        yield values


_FindProblem = Callable[[str], ReferenceProblem | None]


class LinkedRows:
    """Rows of the batch's workbooks by the column that a link names.

    ``sheets`` are those of the workbooks that the link names; their files are relative to
    ``folder``. A row with an error does not provide a usable record.
    """

    def __init__(self, link: SheetLink, sheets: Sequence[ValidatedSheet], folder: Path) -> None:
        self._link, self._folder = link, folder
        self._files = {path.resolve() for path in matching_files(folder, str(link.file))}
        self.sheets: list[ValidatedSheet] = []
        self._places: dict[str, list[tuple[ValidatedSheet, int, bool]]] = {}
        for sheet in filter(lambda one: self.is_in(one.file), sheets):
            path = folder / sheet.file
            column = texts_of_column(path, sheet.sheet, link.column, sheet.limits, sheet.resource)
            number, texts = column or (0, {})
            self.sheets.append(sheet)
            sheet = replace(sheet, columns={**sheet.columns, link.column: number})
            usable = ~sheet.rows_in_error() & sheet.readable
            for position, row in enumerate(sheet.rows):
                if row in texts and row not in sheet.non_records:
                    place = sheet, position, bool(usable[position])
                    self._places.setdefault(texts[row], []).append(place)

    def is_in(self, file: Path) -> bool:
        """Return whether the link names a file."""
        return (self._folder / file).resolve() in self._files

    def __contains__(self, value: str) -> bool:
        return value in self._places

    def problem(self, value: str, seen_from: ValidatedSheet) -> ReferenceProblem | None:
        """Return the problem of a value whose rows do not provide exactly one usable record."""
        places = self._places[value]
        cells = [cell_reference(one, self._link.column, at, seen_from) for one, at, _ in places]
        if len({id(one) for one, _, _ in places}) < len(places):
            # Several workbooks may have the same record, rows of one have different ones.
            records = "; ".join(cells[:_MAX_ROWS_NAMED])
            return ReferenceProblem("link-ambiguous", {"by": self._link.column, "records": records})
        if not any(is_usable for _, _, is_usable in places):
            return ReferenceProblem("reference-waits", {"place": cells[0]})
        return None


@dataclass(frozen=True, slots=True)
class UnsettledWorkbook:
    """A workbook whose records are not known yet, and its resource, None if unknown."""

    file: Path
    resource: Resource | None

    def may_register(self, registry: str, link: Link | None) -> bool:
        """Return whether it may create records of a registry."""
        if link is not None:
            return self.resource is None or registry_named(self.resource.name) == registry
        columns = self.resource.columns if self.resource else ()
        return any(column.registers == registry for column in columns)


class ReferenceChecks:
    """Checks of references against the batch and, with a ``resolver``, the remote system.

    Each listing is read once. Files of sheets are relative to ``folder``.
    """

    def __init__(
        self,
        sheets: Sequence[ValidatedSheet],
        unsettled: Sequence[UnsettledWorkbook],
        resolver: LinkResolver | None,
        folder: Path,
    ) -> None:
        self._sheets = sheets
        self._unsettled = unsettled
        self._resolver = resolver
        self._provided_keys: Callable[[str, Link | None, Kind], ProvidedKeys] = cache(
            lambda registry, link, kind: ProvidedKeys(registry, link, kind, sheets)
        )
        self._linked_rows: Callable[[SheetLink], LinkedRows] = cache(
            lambda link: LinkedRows(link, sheets, folder)
        )

    def findings(self, sheet: ValidatedSheet, *, is_child: bool = False) -> Iterator[Finding]:
        """Yield the findings of a sheet's references; of a child sheet only those of its links to
        other workbooks. Raises what ``Client.records`` raises."""
        for column in sheet.resource.columns if sheet.resource else ():
            names_record = not is_child and (column.link or column.references)
            if column.name not in sheet.columns or not (names_record or column.sheet_link):
                continue
            cells = values_of(sheet, column.name)
            if column.sheet_link is not None:
                find_problem = self._sheet_link_check(sheet, column.sheet_link, cells)
            elif column.link is not None:
                find_problem = self._link_check(sheet, column, column.link, cells)
            else:
                find_problem = self._code_check(sheet, str(column.references), cells)
            results = enumerate(map(find_problem, cells.values))
            problems = {number: problem for number, problem in results if problem is not None}
            for position, number in cells.cells_with(problems):
                problem = problems[number]
                yield sheet.finding(problem.code, column.name, position, problem.details)

    def _sheet_link_check(
        self, sheet: ValidatedSheet, link: SheetLink, cells: ColumnValues
    ) -> _FindProblem:
        linked = self._linked_rows(link)
        unsettled = [str(book.file) for book in self._unsettled if linked.is_in(book.file)]
        codes: Mapping[str, str] = {}
        if self._resolver is not None and any(
            value.strip() not in linked for value in cells.values
        ):
            # Planning reports a sheet that cannot be used; others of the link may be in the batch.
            codes = self._resolver.codes_if_sent(link)

        def problem(value: str) -> ReferenceProblem | None:
            key = value.strip()
            if key in linked:
                return linked.problem(key, sheet)
            if key in codes or self._resolver is None:
                return None
            if unsettled:
                return ReferenceProblem("reference-unsettled", {"files": ", ".join(unsettled)})
            details = {"file": link.file.name, "column": link.column}
            return ReferenceProblem("link-not-in-sheet", details) if linked.sheets else None

        return problem

    def _link_check(
        self, sheet: ValidatedSheet, column: Column, link: Link, cells: ColumnValues
    ) -> _FindProblem:
        provided = self._provided_keys(link.registry, link, column.kind)
        others = [value for value in cells.values if value not in provided]
        linked = (
            None if self._resolver is None else self._resolver.records(link, column.kind, others)
        )

        def problem(value: str) -> ReferenceProblem | None:
            if linked is not None and linked.find(value):
                return linked.problem(value)
            if value in provided:
                return provided.problem(value, sheet)
            if linked is None:
                return None
            return self._missing(link.registry, link, whole=linked.is_conclusive_for(value))

        return problem

    def _code_check(
        self, sheet: ValidatedSheet, registry: str, cells: ColumnValues
    ) -> _FindProblem:
        provided = self._provided_keys(registry, None, Kind.CODE)
        known = (
            None
            if self._resolver is None
            else self._resolver.registries.look_up(registry, REFERENCES[registry], cells.values)
        )
        missing = {proven: self._missing(registry, None, whole=proven) for proven in (True, False)}

        def problem(value: str) -> ReferenceProblem | None:
            if known is not None and value in known.active:
                code = known.fault(value)
                return None if code is None else ReferenceProblem(code, _details(registry))
            if value in provided:
                return provided.problem(value, sheet)
            return None if known is None else missing[known.proves(value)]

        return problem

    def _missing(self, registry: str, link: Link | None, *, whole: bool) -> ReferenceProblem:
        """Return the problem of a value that is neither in the system nor in the batch."""
        files = [str(book.file) for book in self._unsettled if book.may_register(registry, link)]
        if files:
            return ReferenceProblem("reference-unsettled", {"files": ", ".join(files)})
        if not whole:
            return ReferenceProblem("reference-unproven", _details(registry))
        resources = (sheet.resource for sheet in self._sheets)
        filled = any(
            resource and registry_named(resource.name) == registry for resource in resources
        )
        in_batch = link is not None or filled or self._provided_keys(registry, None, Kind.CODE)
        code = "reference-unknown-in-batch" if in_batch else "reference-unknown"
        return ReferenceProblem(code, _details(registry))


def _details(registry: str) -> dict[str, object]:
    return {"registry": REFERENCES[registry].title}
