"""Validate a schema file: its form, names that lead nowhere, and contradictions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from xlbridge.errors import SchemaFileError
from xlbridge.i18n import Text
from xlbridge.resources.checks import ROW_RULES
from xlbridge.resources.checks.rules import checks_of
from xlbridge.resources.column import DTYPES_OF_KIND, KIND_OF_DTYPE, Kind, normalize_header
from xlbridge.resources.layouts import column_changes_since, layout_changes
from xlbridge.resources.model_columns import completed
from xlbridge.resources.pandera_form import normalized
from xlbridge.resources.resource import wire_model
from xlbridge.resources.schema_format import schema_file_format
from xlbridge.resources.schema_rules import example_error, unsuitable_rules
from xlbridge.resources.yaml_files import (
    Mistake,
    YamlDocument,
    YamlPath,
    format_mistakes,
    format_yaml_path,
    mistakes_of,
    read_document,
    unknown_value,
)
from xlbridge.resources.yaml_files.validation import format_yaml_value
from xlbridge.wire import WireModel

_Content = Mapping[str, Any]


def validated_document(path: Path, taken: Mapping[str, Path]) -> YamlDocument:
    """Return the document of a schema file in which nothing is wrong.

    ``taken`` are the resources that other files have, and those files.

    Raises ``SchemaFileError`` naming the file, the line and the place of each mistake, and what
    is allowed there.
    """
    document = read_document(path)
    if isinstance(document, Mistake):
        raise _schema_file_error(path, [document])
    document.content = normalized(completed(document.content), path)
    mistakes = mistakes_of(document, schema_file_format())
    mistakes = mistakes or [*_duplicate_resource(document, taken), *_contradictions(document)]
    if mistakes:
        raise _schema_file_error(path, mistakes)
    return document


def _duplicate_resource(document: YamlDocument, taken: Mapping[str, Path]) -> Iterator[Mistake]:
    name = document.content["metadata"]["resource"]
    if name in taken:
        place = ("metadata", "resource")
        what = Text(pt="{name!r} já está em {file}.", en="{name!r} is already in {file}.")
        yield Mistake(
            document.line(place), format_yaml_path(place), what.format(name=name, file=taken[name])
        )


def _schema_file_error(path: Path, mistakes: Sequence[Mistake]) -> SchemaFileError:
    return SchemaFileError(
        format_mistakes(path, mistakes),
        Text(
            pt="O que cabe no arquivo: xlbridge resources --json-schema",
            en="What the file may hold: xlbridge resources --json-schema",
        ),
    )


def _contradictions(document: YamlDocument) -> Iterator[Mistake]:
    """Yield what no part of the file shows by itself: names that lead nowhere, and the like."""
    root, metadata = document.content, document.content["metadata"]
    names = tuple(root["columns"])

    def wrong(place: YamlPath, what: Text) -> Mistake:
        return Mistake(document.line(place), format_yaml_path(place), what)

    for place, name in _column_names(root):
        if name not in names:
            yield wrong(place, unknown_value(name, names))
    unfit = list(unsuitable_rules(root))
    for place, what in unfit:
        yield wrong(place, what)
    judged = {place[1] for place, _ in unfit if place[0] == "columns"}
    for place, what in chain(
        _column_contradictions(root, judged), _shared_headers(root), _changed_columns(root)
    ):
        yield wrong(place, what)
    amount = metadata.get("control_totals", {}).get("amount")
    if amount in names and _declared_kind(metadata, amount) != Kind.MONEY:
        what = Text(
            pt="só se soma uma coluna de kind money.",
            en="only a column of kind money can be added up.",
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
            pt="{name!r} não é um modelo da interface.",
            en="{name!r} is not a model of the interface.",
        ).format(name=metadata["model"])
        yield wrong(("metadata", "model"), what)


def _column_contradictions(
    root: _Content, unfit: Collection[object]
) -> Iterator[tuple[YamlPath, Text]]:
    """Yield what in the metadata of a column does not go with the column itself.

    The examples of columns with ``unfit`` rules cannot be judged.
    """
    for name, extra in (root["metadata"].get("columns") or {}).items():
        body = root["columns"].get(name)
        if body is None or extra is None:
            continue
        kind = Kind(extra.get("kind", KIND_OF_DTYPE[body["dtype"]]))
        if DTYPES_OF_KIND[kind] != body["dtype"]:
            what = Text(
                pt="{kind} não combina com o dtype {dtype}.",
                en="{kind} does not match the dtype {dtype}.",
            )
            place = ("metadata", "columns", name, "kind")
            yield place, what.format(kind=kind, dtype=body["dtype"])
            continue
        example = extra.get("example")
        if example is None or name in unfit:
            continue
        expected = example_error(kind, checks_of(body), example)
        if expected is not None:
            what = Text(
                pt="o exemplo {example} não é o que a coluna aceita: {expected}.",
                en="the example {example} is not what the column accepts: {expected}.",
            )
            place = ("metadata", "columns", name, "example")
            yield place, what.format(example=format_yaml_value(example), expected=expected)


def _shared_headers(root: _Content) -> Iterator[tuple[YamlPath, Text]]:
    """Yield titles that name another column too: its cells would end in the wrong one."""
    known = {normalize_header(name): name for name in root["columns"]}
    for name, body in root["columns"].items():
        extra = (root["metadata"].get("columns") or {}).get(name) or {}
        for place, title in (
            (("columns", name, "title"), body.get("title")),
            (("metadata", "columns", name, "title_en"), extra.get("title_en")),
        ):
            other = known.setdefault(normalize_header(title or name), name)
            if other != name:
                what = Text(
                    pt="{title!r} já é o título da coluna {other}.",
                    en="{title!r} is the title of the column {other}.",
                )
                yield place, what.format(title=title, other=other)


def _changed_columns(root: _Content) -> Iterator[tuple[YamlPath, Text]]:
    """Yield what earlier layouts tell of columns and the list of columns contradicts."""
    layouts = root["metadata"].get("layouts", {})
    changes = layout_changes(layouts)
    for layout, change in layouts.items():
        today = column_changes_since(changes, int(layout))
        for old in change.get("renamed", {}):
            name = today[old]
            if name is not None and name not in root["columns"]:
                yield (
                    ("metadata", "layouts", layout, "renamed", old),
                    unknown_value(name, tuple(root["columns"])),
                )
        for number, gone in enumerate(change.get("removed", ())):
            if gone in root["columns"]:
                what = Text(
                    pt="{column!r} continua entre as colunas.",
                    en="{column!r} is still among the columns.",
                )
                place = ("metadata", "layouts", layout, "removed", number)
                yield place, what.format(column=gone)


def _declared_kind(metadata: _Content, column: str) -> str | None:
    extra = (metadata.get("columns") or {}).get(column) or {}
    kind: str | None = extra.get("kind")
    return kind


def _column_names(root: _Content) -> Iterator[tuple[YamlPath, object]]:
    """Yield every mention of a column outside the list of columns, and its place."""
    metadata = root["metadata"]
    for name in metadata.get("columns") or {}:
        yield ("metadata", "columns", name), name
    for number, name in enumerate(metadata.get("natural_keys", ())):
        yield ("metadata", "natural_keys", number), name
    yield from _read_back_column_names(metadata.get("read_back", {}))
    twins = metadata.get("create", {}).get("twins", {})
    yield from _lookup_column_names(twins, ("metadata", "create", "twins"))
    yield from _control_total_column_names(metadata.get("control_totals", {}))
    for number, check in enumerate(root.get("checks") or ()):
        rule = ROW_RULES[check["options"]["check_name"]]
        yield ("checks", number, "column"), check["column"]
        for name in rule.columns_read({k: v for k, v in check.items() if k != "options"}):
            key = next(k for k, v in check.items() if k not in {"options", "column"} and name in v)
            yield ("checks", number, key), name


def _read_back_column_names(body: _Content) -> Iterator[tuple[YamlPath, object]]:
    place = ("metadata", "read_back")
    for number, name in enumerate(body.get("apart", ())):
        yield (*place, "apart", number), name
    for name in body.get("blank", {}):
        yield (*place, "blank", name), name
    for name in body.get("fields", {}):
        yield (*place, "fields", name), name
    for name, other in body.get("blank_as", {}).items():
        yield (*place, "blank_as", name), name
        yield (*place, "blank_as", name), other
    for number, lookup in enumerate(body.get("lookups", ())):
        yield from _lookup_column_names(lookup, (*place, "lookups", number))


def _lookup_column_names(body: _Content, place: YamlPath) -> Iterator[tuple[YamlPath, object]]:
    for key in ("key", "when"):
        for name in body.get(key, {}):
            yield (*place, key, name), name
    for field, name in body.get("filter", {}).items():
        yield (*place, "filter", field), name


def _control_total_column_names(body: _Content) -> Iterator[tuple[YamlPath, object]]:
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
