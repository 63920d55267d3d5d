"""Layouts of sheets: the mark of a filled template, and what has changed since earlier layouts."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Mark by which a filled template is recognised, written ``name:layout:digest``.

    The digest covers the columns' names, kinds and obligation, so that a change of them is
    noticed although the layout's number was not raised. ``listed`` are the columns in which the
    template offers records of registries; where there are any, they are written behind the digest.
    """

    resource: str
    layout: int
    digest: str
    listed: tuple[str, ...] = ()

    @classmethod
    def of(cls, resource: str, layout: int, columns: Iterable[tuple[str, str, bool]]) -> Self:
        """Return the fingerprint of columns, each given by name, kind and obligation."""
        shape = json.dumps([list(column) for column in columns])
        return cls(resource, layout, hashlib.sha256(shape.encode()).hexdigest()[:12])

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Return the fingerprint that a text is, None where it is not one."""
        resource, _, rest = (text or "").partition(":")
        layout, _, digest = rest.partition(":")
        digest, _, listed = digest.partition(":")
        columns = tuple(filter(None, listed.split(",")))
        is_one = layout.isdecimal() and bool(digest)
        return cls(resource, int(layout), digest, columns) if is_one else None

    def __str__(self) -> str:
        own = f"{self.resource}:{self.layout}:{self.digest}"
        return f"{own}:{','.join(self.listed)}" if self.listed else own


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """Changes of the layout after ``layout``: columns renamed (old to new) and removed."""

    layout: int
    renamed: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def layout_changes(stated: Mapping[str, Mapping[str, Any]]) -> tuple[LayoutChange, ...]:
    """Return the changes that the block ``layouts`` of a schema file states, in its order."""
    return tuple(
        LayoutChange(int(layout), change.get("renamed", {}), tuple(change.get("removed", ())))
        for layout, change in stated.items()
    )


def column_changes_since(changes: Iterable[LayoutChange], layout: int) -> dict[str, str | None]:
    """Return today's name of each changed column of a layout, None for a removed one."""
    names: dict[str, str | None] = {}
    for change in sorted(changes, key=lambda change: change.layout):
        if change.layout < layout:
            continue
        for old, name in names.items():
            if name is not None:
                names[old] = None if name in change.removed else change.renamed.get(name, name)
        for old, new in change.renamed.items():
            names.setdefault(old, new)
        for gone in change.removed:
            names.setdefault(gone, None)
    return names
