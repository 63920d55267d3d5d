"""Whether what the cells of a batch refer to is in the batch or in the remote system."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlbridge.batch.codes import Codes, Fault, comparable
from xlbridge.batch.supply import Supply
from xlbridge.findings import Finding
from xlbridge.online.references import Registries
from xlbridge.resources.column import Column, Kind, Link
from xlbridge.resources.references import REFERENCES
from xlbridge.resources.resource import Resource
from xlbridge.validation.column_values import ColumnValues, values_of
from xlbridge.validation.validate import ValidatedSheet

_FaultOf = Callable[[str], Fault | None]


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A workbook of which is not known what it brings, and its resource, None where that is not
    known either."""

    file: Path
    resource: Resource | None

    def may_register(self, registry: str, link: Link | None) -> bool:
        """Whether it may have registered records of a registry."""
        if link is not None:
            return self.resource is None or self.resource.name == registry
        columns = self.resource.columns if self.resource else ()
        return any(column.registers == registry for column in columns)


class Referring:
    """Judges the references of sheets; the remote system is asked where there are ``registries``,
    for each listing once."""

    def __init__(
        self,
        sheets: Sequence[ValidatedSheet],
        unsettled: Sequence[Unsettled],
        registries: Registries | None,
    ) -> None:
        self._sheets = sheets
        self._unsettled = unsettled
        self._registries = registries
        self._codes = None if registries is None else Codes(registries)
        self._supplies: dict[tuple[str, str | None, Kind], Supply] = {}

    def findings(self, sheet: ValidatedSheet) -> Iterator[Finding]:
        """Yield the findings of a sheet's references; it is one of the sheets, or like one.

        Raises what ``Client.records`` raises.
        """
        for column in sheet.resource.columns if sheet.resource else ():
            if column.name in sheet.columns and (column.link or column.references):
                yield from self._of_column(sheet, column)

    def _of_column(self, sheet: ValidatedSheet, column: Column) -> Iterator[Finding]:
        cells = values_of(sheet, column.name)
        if column.link is not None:
            fault_of = self._of_link(sheet, column, column.link, cells)
        else:
            fault_of = self._of_code(sheet, str(column.references), cells)
        told = enumerate(map(fault_of, cells.values))
        faults = {number: fault for number, fault in told if fault is not None}
        for position, number in cells.cells(faults):
            fault = faults[number]
            yield sheet.finding(fault.code, column.name, position, fault.details)

    def _of_link(
        self, sheet: ValidatedSheet, column: Column, link: Link, cells: ColumnValues
    ) -> _FaultOf:
        supply = self._supply(link.registry, link, column.kind)
        values = (comparable(column.kind, value) for value in cells.values)
        elsewhere = [value for value in values if value not in supply]
        named = None if self._codes is None else self._codes.named(link, column.kind, elsewhere)

        def fault(value: str) -> Fault | None:
            value = comparable(column.kind, value)
            if named is not None and value in named.records:
                return named.fault(value)
            if value in supply:
                return supply.fault(value, sheet)
            if named is None:
                return None
            return self._missing(link.registry, link, whole=named.proves(value))

        return fault

    def _of_code(self, sheet: ValidatedSheet, registry: str, cells: ColumnValues) -> _FaultOf:
        supply = self._supply(registry, None, Kind.CODE)
        known = (
            None
            if self._registries is None
            else self._registries.look_up(registry, REFERENCES[registry], cells.values)
        )
        missing = {proven: self._missing(registry, None, whole=proven) for proven in (True, False)}

        def fault(value: str) -> Fault | None:
            if known is not None and value in known.active:
                code = known.fault(value)
                return None if code is None else Fault(code, _details(registry))
            if value in supply:
                return supply.fault(value, sheet)
            return None if known is None else missing[known.proves(value)]

        return fault

    def _missing(self, registry: str, link: Link | None, *, whole: bool) -> Fault:
        """Return what is wrong with a value that is neither in the system nor in the batch."""
        files = [str(each.file) for each in self._unsettled if each.may_register(registry, link)]
        if files:
            return Fault("reference-unsettled", {"files": ", ".join(files)})
        if not whole:
            return Fault("reference-unproven", _details(registry))
        filled = any(sheet.resource and sheet.resource.name == registry for sheet in self._sheets)
        in_batch = link is not None or filled or self._supply(registry, None, Kind.CODE)
        code = "reference-unknown-in-batch" if in_batch else "reference-unknown"
        return Fault(code, _details(registry))

    def _supply(self, registry: str, link: Link | None, kind: Kind) -> Supply:
        place = registry, link.field if link else None, kind
        if place not in self._supplies:
            self._supplies[place] = Supply(registry, link, kind, self._sheets)
        return self._supplies[place]


def _details(registry: str) -> dict[str, object]:
    return {"registry": REFERENCES[registry].title}
