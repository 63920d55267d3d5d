"""One importable resource."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text
from xlbridge.resources.column import Column
from xlbridge.resources.control_totals import ControlTotals
from xlbridge.resources.interface import operation_named
from xlbridge.resources.layouts import Fingerprint, LayoutChange
from xlbridge.resources.read_back import ReadBack

if TYPE_CHECKING:
    from xlbridge.wire.operation import Operation


class Mode(StrEnum):
    """A way of sending a sheet."""

    DIRECT = "direct"
    PREVIEW = "preview"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A check across columns or rows: a name in ``ROW_RULES`` and its statistics."""

    name: str
    statistics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ImportPaths:
    """How the remote system takes a resource's sheets.

    ``needs_processar`` says that a queued file waits until processar-arquivo is called for it.
    """

    direct_name: str
    queue_name: str | None
    needs_processar: bool

    @property
    def direct(self) -> "Operation":
        """The operation that takes a sheet at once, and answers previews."""
        return operation_named(self.direct_name)

    @property
    def queue(self) -> "Operation | None":
        """The operation that queues a sheet, None where there is none."""
        return None if self.queue_name is None else operation_named(self.queue_name)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that the resource can be sent in."""
        queue = (Mode.QUEUE,) if self.queue_name else ()
        return (Mode.DIRECT, Mode.PREVIEW, *queue)


@dataclass(frozen=True)
class Resource:
    """What can be imported: its columns, its rules, and the paths that take its sheets.

    ``model`` names the wire model (``module.Class`` in ``xlbridge.wire``) that a row becomes.
    ``natural_keys`` are the columns that tell records apart without the remote system's own codes;
    ``read_back`` is how records are found by them, None where they cannot be.
    ``totals`` are the control totals of its rows. ``changes`` tell what became of the columns of
    earlier layouts. ``unlinked`` is the resource itself where this is a form of it in which
    columns name records by a ``Link``.
    """

    name: str
    title: Text
    description: str
    layout: int
    section: str
    model: str | None
    paths: ImportPaths
    natural_keys: tuple[str, ...]
    columns: tuple[Column, ...]
    row_checks: tuple[RowCheck, ...]
    totals: ControlTotals
    source: Path
    read_back: ReadBack | None = None
    changes: tuple[LayoutChange, ...] = ()
    unlinked: "Resource | None" = None

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        """The columns by their names."""
        return {column.name: column for column in self.columns}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the columns that every sheet must have."""
        return tuple(column.name for column in self.columns if column.required)

    @cached_property
    def fingerprint(self) -> str:
        """What a template carries so that it is recognised."""
        if self.unlinked is not None:
            return self.unlinked.fingerprint
        columns = ((c.name, c.kind.value, c.required) for c in self.columns)
        return str(Fingerprint.of(self.name, self.layout, columns))
