"""Reading one schema file into a resource."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources.column import KIND_OF_DTYPE, Column, Kind
from xlbridge.resources.control_totals import ControlTotals, usual_totals
from xlbridge.resources.layouts import layout_changes
from xlbridge.resources.read_back import Existing, Lookup, ReadBack
from xlbridge.resources.resource import ImportPaths, Resource, RowCheck
from xlbridge.resources.rules import checks_of
from xlbridge.yaml_files.places import YamlText

_Content = Mapping[str, Any]


def read_schema_file(path: Path, beside: Iterable[Resource] = ()) -> Resource:
    """Read a pandera schema file with its ``metadata`` block.

    ``beside`` are the resources of the other files of its folder, whose names it cannot have.
    Raises ``SchemaFileError`` naming the file, the line and the place of each mistake, and what
    is allowed there.
    """
    # Late, as it imports all of the interface, whose names a file may hold.
    from xlbridge.resources.schema_mistakes import flawless

    return _resource(path, flawless(path, {other.name: other.source for other in beside}).content)


def read_shipped_file(path: Path) -> Resource:
    """Read a schema file that came with xlbridge, which is known to be right."""
    return _resource(path, YamlText(path.read_text(encoding="utf-8")).content)


def _resource(path: Path, root: _Content) -> Resource:
    metadata = root["metadata"]
    extra = metadata.get("columns") or {}
    columns = tuple(_column(n, body, extra.get(n) or {}) for n, body in root["columns"].items())
    return Resource(
        name=metadata["resource"],
        title=Text(pt=root["title"], en=metadata.get("title_en", root["title"])),
        description=root.get("description", ""),
        layout=metadata.get("layout", 1),
        section=metadata.get("section", ""),
        model=metadata.get("model"),
        paths=_paths(metadata["import"]),
        natural_keys=tuple(metadata.get("natural_keys", ())),
        columns=columns,
        totals=_totals(metadata.get("control_totals"), columns),
        row_checks=tuple(_row_check(item) for item in root.get("checks") or ()),
        source=path,
        read_back=_read_back(metadata.get("read_back"), columns),
        changes=layout_changes(metadata.get("layouts", {})),
    )


def _column(name: str, body: _Content, extra: _Content) -> Column:
    return Column(
        name=name,
        kind=Kind(extra.get("kind", KIND_OF_DTYPE[body["dtype"]])),
        required=not body.get("nullable", False),
        title=Text(pt=body.get("title", name), en=extra.get("title_en", name)),
        description=body.get("description", ""),
        example=extra.get("example"),
        references=extra.get("references"),
        registers=extra.get("registers"),
        checks=checks_of(body),
    )


def _row_check(item: _Content) -> RowCheck:
    statistics = {key: value for key, value in item.items() if key != "options"}
    return RowCheck(item["options"]["check_name"], statistics)


def _totals(body: _Content | None, columns: Sequence[Column]) -> ControlTotals:
    if body is None:
        return usual_totals(columns)
    return ControlTotals(amount=body.get("amount"), by=tuple(body["by"]))


def _read_back(body: _Content | None, columns: Sequence[Column]) -> ReadBack | None:
    if body is None:
        return None
    return ReadBack(
        lookups=tuple(
            Lookup(
                key=item["key"],
                listed_by=tuple(item["operations"]),
                filters=item.get("filter", {}),
                when={name: tuple(values) for name, values in item.get("when", {}).items()},
            )
            for item in body["lookups"]
        ),
        columns=tuple(column.name for column in columns),
        codes=tuple(body.get("codes", ())),
        existing=Existing(body["existing"]),
        apart=tuple(body.get("apart", ())),
        blank=body.get("blank", {}),
        blank_as=body.get("blank_as", {}),
    )


def _paths(body: _Content) -> ImportPaths:
    return ImportPaths(
        direct_name=body["direct"],
        queue_name=body.get("queue"),
        needs_processar=body.get("needs_processar", False),
    )
