"""The layouts that a resource's sheet has had: what tells a template's age, and what became of
its columns.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a template carries so that it is recognised, written ``name:layout:digest``.

    The digest covers the columns' names, kinds and obligation, so that a change of them is
    noticed although the layout's number was not raised.
    """

    resource: str
    layout: int
    digest: str

    @classmethod
    def of(cls, resource: str, layout: int, columns: Iterable[tuple[str, str, bool]]) -> Self:
        """Return the fingerprint of columns, each given by name, kind and obligation."""
        shape = json.dumps([list(column) for column in columns])
        return cls(resource, layout, hashlib.sha256(shape.encode()).hexdigest()[:12])

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Return what a template carries as a fingerprint, None where it is none."""
        resource, _, rest = (text or "").partition(":")
        layout, _, digest = rest.partition(":")
        return cls(resource, int(layout), digest) if layout.isdecimal() and digest else None

    def __str__(self) -> str:
        return f"{self.resource}:{self.layout}:{self.digest}"


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """What the layout after ``layout`` did to its columns: old names to new ones, and the gone."""

    layout: int
    renamed: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def layout_changes(told: Mapping[str, Mapping[str, Any]]) -> tuple[LayoutChange, ...]:
    """Return the changes that the block ``layouts`` of a schema file tells, in its order."""
    return tuple(
        LayoutChange(int(layout), change.get("renamed", {}), tuple(change.get("removed", ())))
        for layout, change in told.items()
    )


def fates_since(changes: Iterable[LayoutChange], layout: int) -> dict[str, str | None]:
    """Return what each changed column of a layout is called today, None where it is gone."""
    fates: dict[str, str | None] = {}
    for change in sorted(changes, key=lambda change: change.layout):
        if change.layout < layout:
            continue
        for old, name in fates.items():
            if name is not None:
                fates[old] = None if name in change.removed else change.renamed.get(name, name)
        for old, new in change.renamed.items():
            fates.setdefault(old, new)
        for gone in change.removed:
            fates.setdefault(gone, None)
    return fates
