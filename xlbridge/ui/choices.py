"""Choices of the user for an opened workbook, and the workbook of a batch that it is a copy of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from xlbridge.settings import ParseOptions
from xlbridge.validation.mapping import SheetMapping

MAPPING = "mapping.yaml"
"""Name of the mapping file in a workbook's folder."""


@dataclass(frozen=True, slots=True)
class BatchUnit:
    """Workbook of a batch: the batch, the step, and the file of the plan."""

    batch: str
    step: str
    path: str


@dataclass(frozen=True, slots=True)
class SheetChoice:
    """Choice of resource, sheet, mapping, conventions and links; None means it is recognised."""

    resource: str | None = None
    sheet: str | None = None
    mapping: SheetMapping | None = None
    reading: ParseOptions = ParseOptions()  # noqa: RUF009 - frozen
    links: Mapping[str, str] = field(default_factory=dict)
