"""What is kept of a judged sheet until all workbooks of a batch are there: keys, and where they
stand."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from xlbridge.batch.links import names_in
from xlbridge.batch.same_rows import Digests, digests_of
from xlbridge.findings import Severity
from xlbridge.resources.references import REFERENCES
from xlbridge.resources.resource import Resource
from xlbridge.validation.together import keys_of
from xlbridge.validation.validate import ValidatedSheet


@dataclass(frozen=True, slots=True)
class KeptSheet:
    """A sheet of a batch. ``sheet`` has only the columns that are compared, and its errors; its
    file is as people are told of it."""

    step: str
    file: Path
    sheet: ValidatedSheet
    digests: Digests


def keep(step: str, sheet: ValidatedSheet, folder: Path) -> KeptSheet:
    """Return what is kept of a sheet; people are told of its file as seen from ``folder``."""
    compared = set() if sheet.resource is None else set(_compared(sheet.resource))
    kept = replace(
        sheet,
        file=seen_from(folder, sheet.file),
        frame=sheet.frame[[name for name in sheet.frame if name in compared]],
        rows=array("i", sheet.rows),
        findings=[f for f in sheet.findings if f.kind.severity is Severity.ERROR],
        mending=None,
    )
    return KeptSheet(step, sheet.file, kept, digests_of(sheet))


def seen_from(folder: Path, file: Path) -> Path:
    """Return a file's path as it is seen from a folder."""
    return file.relative_to(folder) if file.is_relative_to(folder) else file


def _compared(resource: Resource) -> Iterator[str]:
    for column, columns in keys_of(resource):
        yield from (column, *columns)
    for each in resource.columns:
        if each.references or each.registers or each.link:
            yield each.name
    if resource.name in REFERENCES:
        yield from names_in(resource)
        yield REFERENCES[resource.name].active or ""
        for lookup in resource.read_back.lookups if resource.read_back else ():
            yield from lookup.when
