"""Reading one schema file into a resource; every mistake in it is named with its line."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from xlbridge.errors import SchemaFileError
from xlbridge.i18n import Text
from xlbridge.resources.column import DTYPES_OF_KIND, KIND_OF_DTYPE, Column, Kind
from xlbridge.resources.control_totals import ControlTotals, usual_totals
from xlbridge.resources.layouts import LayoutChange
from xlbridge.resources.read_back import Existing, Lookup, ReadBack
from xlbridge.resources.resource import ImportPaths, Resource, RowCheck
from xlbridge.resources.rules import ROW_RULES, RULES
from xlbridge.resources.schema_format import schema_format
from xlbridge.wire.model import WireModel
from xlbridge.wire.operation import Operation
from xlbridge.wire.operations import OPERATIONS
from xlbridge.yaml_files.document import read_document, told
from xlbridge.yaml_files.form import Mistake, dotted, mistakes_of, unknown
from xlbridge.yaml_files.places import Place, YamlText

_Content = Mapping[str, Any]


def read_schema_file(path: Path) -> Resource:
    """Read a pandera schema file with its ``metadata`` block.

    Raises ``SchemaFileError`` naming the file, the line and the place of each mistake, and what
    is allowed there.
    """
    document = read_document(path)
    if isinstance(document, Mistake):
        raise _wrong(path, [document])
    mistakes = mistakes_of(document, schema_format())
    if not mistakes:
        mistakes = list(_contradictions(document))
    if mistakes:
        raise _wrong(path, mistakes)
    return _resource(path, document.content)


def wire_model(name: str) -> type[WireModel]:
    """Return the model of the interface that ``module.Class`` names."""
    module, _, attribute = name.partition(".")
    model: type[WireModel] = getattr(importlib.import_module(f"xlbridge.wire.{module}"), attribute)
    return model


def _wrong(path: Path, mistakes: Sequence[Mistake]) -> SchemaFileError:
    return SchemaFileError(
        told(path, mistakes),
        Text(
            pt="O que cabe no arquivo: xlbridge resources --json-schema",
            en="What the file may hold: xlbridge resources --json-schema",
        ),
    )


def _contradictions(document: YamlText) -> Iterator[Mistake]:
    """Yield what no part of the file shows by itself: names that lead nowhere, and the like."""
    root, metadata = document.content, document.content["metadata"]
    names = tuple(root["columns"])

    def wrong(place: Place, what: Text) -> Mistake:
        return Mistake(document.line(place), dotted(place), what)

    for place, name in _column_names(root):
        if name not in names:
            yield wrong(place, unknown(name, names))
    for name in metadata.get("columns") or {}:
        kind, dtype = _kind_named(metadata, name), root["columns"].get(name, {}).get("dtype")
        if kind and dtype and DTYPES_OF_KIND[Kind(kind)] != dtype:
            what = Text(
                pt="{kind} não combina com o dtype {dtype}.",
                en="{kind} does not go with the dtype {dtype}.",
            ).format(kind=kind, dtype=dtype)
            yield wrong(("metadata", "columns", name, "kind"), what)
    amount = metadata.get("control_totals", {}).get("amount")
    if amount in names and _kind_named(metadata, amount) != Kind.MONEY:
        what = Text(
            pt="só se soma uma coluna de kind money.", en="only a column of kind money is added up."
        )
        yield wrong(("metadata", "control_totals", "amount"), what)
    current = metadata.get("layout", 1)
    for layout in metadata.get("layouts", {}):
        if int(layout) >= current:
            what = Text(
                pt="os leiautes anteriores vêm antes do atual, que é {current}.",
                en="earlier layouts come before the current one, which is {current}.",
            ).format(current=current)
            yield wrong(("metadata", "layouts", layout), what)
    if "model" in metadata and not _is_model(metadata["model"]):
        what = Text(
            pt="{name!r} não é um modelo da interface.", en="{name!r} is no model of the interface."
        ).format(name=metadata["model"])
        yield wrong(("metadata", "model"), what)


def _kind_named(metadata: _Content, column: str) -> str | None:
    extra = (metadata.get("columns") or {}).get(column) or {}
    kind: str | None = extra.get("kind")
    return kind


def _column_names(root: _Content) -> Iterator[tuple[Place, object]]:
    """Yield every mention of a column outside the list of columns, and its place."""
    metadata = root["metadata"]
    for name in metadata.get("columns") or {}:
        yield ("metadata", "columns", name), name
    for number, name in enumerate(metadata.get("natural_keys", ())):
        yield ("metadata", "natural_keys", number), name
    yield from _columns_read_back(metadata.get("read_back", {}))
    yield from _columns_added_up(metadata.get("control_totals", {}))
    for number, check in enumerate(root.get("checks") or ()):
        rule = ROW_RULES[check["options"]["check_name"]]
        yield ("checks", number, "column"), check["column"]
        for name in rule.columns({k: v for k, v in check.items() if k != "options"}):
            key = next(k for k, v in check.items() if k not in {"options", "column"} and name in v)
            yield ("checks", number, key), name


def _columns_read_back(body: _Content) -> Iterator[tuple[Place, object]]:
    place = ("metadata", "read_back")
    for number, name in enumerate(body.get("compare", ())):
        yield (*place, "compare", number), name
    for number, lookup in enumerate(body.get("lookups", ())):
        for key in ("key", "when"):
            for name in lookup.get(key, {}):
                yield (*place, "lookups", number, key, name), name
        for field, name in lookup.get("filter", {}).items():
            yield (*place, "lookups", number, "filter", field), name


def _columns_added_up(body: _Content) -> Iterator[tuple[Place, object]]:
    place = ("metadata", "control_totals")
    if "amount" in body:
        yield (*place, "amount"), body["amount"]
    for number, name in enumerate(body.get("by", ())):
        yield (*place, "by", number), name


def _is_model(name: str) -> bool:
    try:
        return issubclass(wire_model(name), WireModel)
    except (ImportError, AttributeError, ValueError, TypeError):
        return False


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
        read_back=_read_back(metadata["read_back"]) if "read_back" in metadata else None,
        changes=tuple(
            LayoutChange(int(layout), change.get("renamed", {}), tuple(change.get("removed", ())))
            for layout, change in metadata.get("layouts", {}).items()
        ),
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
        checks={
            check: dict(value) if isinstance(value, Mapping) else {"value": value}
            for check, value in body.items()
            if check in RULES
        },
    )


def _row_check(item: _Content) -> RowCheck:
    statistics = {key: value for key, value in item.items() if key != "options"}
    return RowCheck(item["options"]["check_name"], statistics)


def _totals(body: _Content | None, columns: Sequence[Column]) -> ControlTotals:
    if body is None:
        return usual_totals(columns)
    return ControlTotals(amount=body.get("amount"), by=tuple(body["by"]))


def _read_back(body: _Content) -> ReadBack:
    return ReadBack(
        lookups=tuple(
            Lookup(
                key=item["key"],
                operations=tuple(OPERATIONS[name] for name in item["operations"]),
                filters=item.get("filter", {}),
                when={name: tuple(values) for name, values in item.get("when", {}).items()},
            )
            for item in body["lookups"]
        ),
        compare=tuple(body.get("compare", ())),
        codes=tuple(body.get("codes", ())),
        existing=Existing(body["existing"]),
    )


def _paths(body: _Content) -> ImportPaths:
    uploads: dict[str, Operation] = {o.name: o for o in OPERATIONS.values() if o.upload}
    queue = body.get("queue")
    return ImportPaths(
        direct=uploads[body["direct"]],
        queue=uploads[queue] if queue else None,
        needs_processar=body.get("needs_processar", False),
    )
