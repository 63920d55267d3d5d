"""Reading one schema file into a resource; every mistake in it is named with its place."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from xlbridge.errors import SchemaFileError
from xlbridge.i18n import Text
from xlbridge.resources.column import KIND_OF_DTYPE, Column, Kind
from xlbridge.resources.read_back import Existing, Lookup, ReadBack
from xlbridge.resources.resource import ImportPaths, Resource, RowCheck
from xlbridge.resources.rules import ROW_RULES, RULES
from xlbridge.wire.model import WireModel
from xlbridge.wire.operation import Operation
from xlbridge.wire.operations import OPERATIONS

_COLUMN_KEYS = frozenset(
    {"title", "description", "dtype", "required", "nullable", "checks", "coerce", "unique", "regex"}
)


def read_schema_file(path: Path) -> Resource:
    """Read a pandera schema file with its ``metadata`` block.

    Raises ``SchemaFileError`` naming the file and the place of the first mistake.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _wrong(path, "", Text(pt=str(error), en=str(error))) from error
    return _Reader(path).resource(document)


def wire_model(name: str) -> type[WireModel]:
    """Return the model of the interface that ``module.Class`` names."""
    module, _, attribute = name.partition(".")
    model: type[WireModel] = getattr(importlib.import_module(f"xlbridge.wire.{module}"), attribute)
    return model


def _wrong(path: Path, place: str, what: Text) -> SchemaFileError:
    return SchemaFileError(
        Text(pt="{path}: {place}{what}", en="{path}: {place}{what}").format(
            path=path, place=f"{place}: " if place else "", what=what
        )
    )


class _Reader:
    """Walks one parsed file; remembers which file it is for the messages."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def resource(self, document: object) -> Resource:
        root = self.mapping(document, "")
        metadata = self.mapping(root.get("metadata"), "metadata")
        extra = self.mapping(metadata.get("columns", {}), "metadata.columns")
        columns = self.mapping(root.get("columns"), "columns")
        for name in extra:
            if name not in columns:
                raise self.unknown(f"metadata.columns.{name}", name, tuple(columns))
        title = self.text(root, "title", "")
        return Resource(
            name=self.text(metadata, "resource", "metadata."),
            title=Text(pt=title, en=str(metadata.get("title_en", title))),
            description=str(root.get("description", "")),
            layout=self.whole_number(metadata, "layout", 1),
            section=str(metadata.get("section", "")),
            model=self.model(metadata.get("model")),
            paths=self.paths(self.mapping(metadata.get("import"), "metadata.import")),
            natural_keys=tuple(metadata.get("natural_keys", ())),
            columns=tuple(
                self.column(name, self.mapping(body, f"columns.{name}"), extra.get(name) or {})
                for name, body in columns.items()
            ),
            row_checks=tuple(self.row_check(item, columns) for item in root.get("checks") or ()),
            source=self.path,
            read_back=self.read_back(metadata.get("read_back"), tuple(columns)),
        )

    def column(self, name: str, body: Mapping[str, Any], extra: Mapping[str, Any]) -> Column:
        place = f"columns.{name}"
        dtype = str(body.get("dtype"))
        if dtype not in KIND_OF_DTYPE:
            raise self.unknown(f"{place}.dtype", dtype, tuple(KIND_OF_DTYPE))
        kind = extra.get("kind", KIND_OF_DTYPE[dtype])
        if kind not in tuple(Kind):
            raise self.unknown(f"metadata.columns.{name}.kind", kind, tuple(Kind))
        column = Column(
            name=name,
            kind=Kind(kind),
            required=not body.get("nullable", False),
            title=Text(pt=body.get("title", name), en=extra.get("title_en", name)),
            description=str(body.get("description", "")),
            example=extra.get("example"),
            references=extra.get("references"),
            checks=self.checks(place, body),
        )
        if column.dtype != dtype:
            raise _wrong(
                self.path,
                f"metadata.columns.{name}.kind",
                Text(
                    pt="{kind} não combina com o dtype {dtype}.",
                    en="{kind} does not go with the dtype {dtype}.",
                ).format(kind=kind, dtype=dtype),
            )
        return column

    def checks(self, place: str, body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        checks = {}
        for name, value in body.items():
            if name in _COLUMN_KEYS:
                continue
            if name not in RULES:
                raise self.unknown(f"{place}.{name}", name, tuple(RULES))
            statistics = dict(value) if isinstance(value, Mapping) else {"value": value}
            rule = RULES[name]
            self.complete(f"{place}.{name}", statistics, rule.statistics, rule.optional)
            checks[name] = statistics
        return checks

    def row_check(self, item: object, columns: Mapping[str, Any]) -> RowCheck:
        body = dict(self.mapping(item, "checks"))
        name = str(self.mapping(body.pop("options", {}), "checks.options").get("check_name"))
        if name not in ROW_RULES:
            raise self.unknown("checks.options.check_name", name, tuple(ROW_RULES))
        rule = ROW_RULES[name]
        self.complete(f"checks.{name}", body, rule.statistics)
        for column in (body["column"], *rule.columns(body)):
            if column not in columns:
                raise self.unknown(f"checks.{name}", column, tuple(columns))
        return RowCheck(name, body)

    def paths(self, body: Mapping[str, Any]) -> ImportPaths:
        queue = body.get("queue")
        return ImportPaths(
            direct=self.operation(body.get("direct"), "direct"),
            queue=self.operation(queue, "queue") if queue else None,
            needs_processar=bool(body.get("needs_processar", False)),
        )

    def read_back(self, body: object, columns: tuple[str, ...]) -> ReadBack | None:
        if body is None:
            return None
        place = "metadata.read_back"
        block = self.mapping(body, place)
        existing = block.get("existing")
        if existing not in tuple(Existing):
            raise self.unknown(f"{place}.existing", existing, tuple(Existing))
        compare = self.known_columns(f"{place}.compare", block.get("compare", ()), columns)
        return ReadBack(
            lookups=tuple(
                self.lookup(f"{place}.lookups[{n}]", item, columns)
                for n, item in enumerate(block.get("lookups", ()))
            ),
            compare=compare,
            codes=tuple(block.get("codes", ())),
            existing=Existing(existing),
        )

    def lookup(self, place: str, item: object, columns: tuple[str, ...]) -> Lookup:
        block = self.mapping(item, place)
        listings = {o.name: o for o in OPERATIONS.values() if o.method == "GET"}
        names = block.get("operations", ())
        for name in names:
            if name not in listings:
                raise self.unknown(f"{place}.operations", name, tuple(listings))
        key = self.mapping(block.get("key"), f"{place}.key")
        filters = self.mapping(block.get("filter", {}), f"{place}.filter")
        when = self.mapping(block.get("when", {}), f"{place}.when")
        self.known_columns(place, (*key, *filters.values(), *when), columns)
        return Lookup(
            key=key,
            operations=tuple(listings[name] for name in names),
            filters=filters,
            when={name: tuple(values) for name, values in when.items()},
        )

    def known_columns(
        self, place: str, names: Sequence[str], columns: tuple[str, ...]
    ) -> tuple[str, ...]:
        for name in names:
            if name not in columns:
                raise self.unknown(place, name, columns)
        return tuple(names)

    def operation(self, name: object, key: str) -> Operation:
        uploads = {o.name: o for o in OPERATIONS.values() if o.upload}
        if name not in uploads:
            raise self.unknown(f"metadata.import.{key}", name, tuple(uploads))
        return uploads[str(name)]

    def mapping(self, value: object, place: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            expected = Text(
                pt="aqui se espera um bloco de chaves e valores.",
                en="a block of keys and values is expected here.",
            )
            raise _wrong(self.path, place, expected)
        return value

    def text(self, mapping: Mapping[str, Any], key: str, place: str) -> str:
        value = mapping.get(key)
        if not isinstance(value, str) or not value:
            raise _wrong(self.path, place + key, Text(pt="falta o texto.", en="text is missing."))
        return value

    def complete(
        self,
        place: str,
        given: Mapping[str, Any],
        wanted: tuple[str, ...],
        optional: tuple[str, ...] = (),
    ) -> None:
        for name in given:
            if name not in wanted:
                raise self.unknown(f"{place}.{name}", name, wanted)
        for name in wanted:
            if name not in given and name not in optional:
                missing = Text(pt="falta {name}.", en="{name} is missing.").format(name=name)
                raise _wrong(self.path, place, missing)

    def whole_number(self, mapping: Mapping[str, Any], key: str, default: int) -> int:
        value = mapping.get(key, default)
        if not isinstance(value, int):
            expected = Text(pt="aqui se espera um inteiro.", en="a whole number is expected here.")
            raise _wrong(self.path, f"metadata.{key}", expected)
        return value

    def model(self, name: object) -> str | None:
        if name is None:
            return None
        try:
            wire_model(str(name))
        except (ImportError, AttributeError, ValueError) as error:
            unknown = Text(
                pt="{name!r} não é um modelo da interface.",
                en="{name!r} is no model of the interface.",
            )
            raise _wrong(self.path, "metadata.model", unknown.format(name=name)) from error
        return str(name)

    def unknown(self, place: str, found: object, allowed: tuple[str, ...]) -> SchemaFileError:
        return _wrong(
            self.path,
            place,
            Text(
                pt="{found!r} não é conhecido; aqui cabem: {allowed}.",
                en="{found!r} is not known; allowed here: {allowed}.",
            ).format(found=found, allowed=", ".join(allowed)),
        )
