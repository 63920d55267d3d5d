"""Catalogue of importable resources, read from the shipped and the user's own schema files."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from xlbridge.errors import UsageError, resolve_name, suggestion
from xlbridge.i18n import Text
from xlbridge.resources.checks.all_rules import checks_of, code_width
from xlbridge.resources.column import USUAL_YEARS, Column
from xlbridge.resources.kind import KIND_OF_DTYPE, Kind
from xlbridge.resources.remote.record_operations import (
    ExistingPolicy,
    Lookup,
    ReadBack,
    RecordChange,
    RecordCreation,
    SeparateList,
)
from xlbridge.resources.resource import (
    KEY,
    ChildSum,
    ControlTotals,
    ImportPaths,
    Resource,
    RowCheck,
    default_totals,
    key_of_child,
    key_of_main,
    layout_changes,
)
from xlbridge.resources.schema_folders import installed_schema_folders, shipped_folder

SHIPPED_FILE = "shipped_schemas.json"
"""JSON of the shipped schema files by file name, completed from the models of their rows."""

_Content = Mapping[str, Any]


def read_schema_file(path: Path, others: Iterable[Resource] = ()) -> Resource:
    """Read a pandera schema file with its ``metadata`` block.

    ``others`` are resources of the same folder, whose names are not allowed. Raises
    ``SchemaFileError`` with the file, line and place of each mistake, and the allowed values there.
    """
    # Late: it imports the whole interface, whose names a file may use.
    from xlbridge.resources.schema_validation import validated_document

    content = validated_document(path, {other.name: other.source for other in others}).content
    return _with_children(_resource(path, content), content, read_schema_file)


def _with_children(main: Resource, root: _Content, read: Callable[[Path], Resource]) -> Resource:
    """Return a resource with its child sheets, whose files are in subfolders."""
    metadata = root["metadata"]
    files = metadata.get("children")
    if not files:
        return main
    needs = tuple(metadata.get("needs_children", ()))
    children = ((name, read(main.source.parent / body["file"])) for name, body in files.items())
    required = bool(needs)
    key = key_of_main(required=required)
    return replace(
        main,
        columns=(key, *main.columns) if required else (*main.columns, key),
        children=tuple(
            replace(
                child,
                name=f"{main.name}.{name}",
                columns=(key_of_child(), *child.columns),
                row_checks=tuple(map(_within_record, child.row_checks)),
                paths=ImportPaths(),
            )
            for name, child in children
        ),
        needs_children=needs,
        sums=tuple(map(ChildSum.of, metadata.get("sums", ()))),
    )


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
        paths=_paths(metadata.get("import")),
        create=_create(metadata.get("create"), metadata.get("read_back", {}).get("codes", ())),
        natural_keys=tuple(metadata.get("natural_keys", ())),
        columns=columns,
        totals=_totals(metadata.get("control_totals"), columns),
        row_checks=tuple(_row_check(item) for item in root.get("checks") or ()),
        source=path,
        read_back=_read_back(metadata.get("read_back"), columns),
        change=_change(metadata.get("change")),
        changes=layout_changes(metadata.get("layouts", {})),
    )


def _column(name: str, body: _Content, extra: _Content) -> Column:
    kind = Kind(extra.get("kind", KIND_OF_DTYPE[body["dtype"]]))
    checks = checks_of(body)
    first_year, last_year = extra.get("usual_years", USUAL_YEARS)
    return Column(
        name=name,
        kind=kind,
        required=not body.get("nullable", False),
        title=Text(pt=body.get("title", name), en=extra.get("title_en", name)),
        description=body.get("description", ""),
        example=extra.get("example"),
        references=extra.get("references"),
        registers=extra.get("registers"),
        checks=checks,
        width=code_width(kind, checks),
        usual_years=(first_year, last_year),
    )


def _within_record(check: RowCheck) -> RowCheck:
    """Return a check of a child sheet, with unique values required only within each record."""
    if check.name not in {"no_repeated_rows", "no_equal_rows"}:
        return check
    columns = [KEY, *check.statistics["columns"]]
    return replace(check, statistics={**check.statistics, "columns": columns})


def _row_check(item: _Content) -> RowCheck:
    statistics = {key: value for key, value in item.items() if key != "options"}
    return RowCheck(item["options"]["check_name"], statistics)


def _totals(body: _Content | None, columns: Sequence[Column]) -> ControlTotals:
    if body is None:
        return default_totals(columns)
    return ControlTotals(amount=body.get("amount"), by=tuple(body["by"]))


def _read_back(body: _Content | None, columns: Sequence[Column]) -> ReadBack | None:
    if body is None:
        return None
    return ReadBack(
        lookups=tuple(map(_lookup, body.get("lookups", ()))),
        columns=tuple(column.name for column in columns),
        codes=tuple(body.get("codes", ())),
        existing=ExistingPolicy(body["existing"]),
        not_compared=tuple(body.get("apart", ())),
        blank=body.get("blank", {}),
        blank_as=body.get("blank_as", {}),
        number_operations=tuple(body.get("by_number", ())),
        fields=body.get("fields", {}),
        lists={name: SeparateList.of(item) for name, item in body.get("lists", {}).items()},
    )


def _lookup(item: _Content) -> Lookup:
    return Lookup(
        key=item["key"],
        operation_names=tuple(item["operations"]),
        filters=item.get("filter", {}),
        when={name: tuple(values) for name, values in item.get("when", {}).items()},
        assumed=item.get("assumed", False),
        only=item.get("only", {}),
        counted=item.get("counted"),
    )


def _change(body: _Content | None) -> RecordChange | None:
    if body is None:
        return None
    return RecordChange(
        operation_name=body.get("operation"),
        read_name=body.get("read"),
        delete_name=body.get("delete"),
        columns=tuple(body.get("columns", ())),
        not_listed=tuple(body.get("not_listed", ())),
        until=tuple(body.get("until", ())),
    )


def _create(body: _Content | None, codes: Sequence[str]) -> RecordCreation | None:
    if body is None:
        return None
    twins = body.get("twins")
    codes = tuple(body.get("codes", codes))
    return RecordCreation(
        operation_name=body["operation"],
        codes=codes,
        twins=None if twins is None else _lookup(twins),
        twin_codes=tuple(body.get("twin_codes", codes)),
        lists={name: tuple(operations) for name, operations in body.get("lists", {}).items()},
    )


def _paths(body: _Content | None) -> ImportPaths:
    if body is None:
        return ImportPaths()
    return ImportPaths(
        direct_name=body["direct"],
        queue_name=body.get("queue"),
        needs_processar=body.get("needs_processar", False),
    )


_OTHER_NAMES = {"nfse": "nota-fiscal-servico", "nfs": "nota-fiscal-servico"}
"""Names by which the interface's paths call a resource whose import has another."""


class Catalogue(Mapping[str, Resource]):
    """The resources by name, in the order of their files."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._resources = MappingProxyType({resource.name: resource for resource in resources})

    def __getitem__(self, name: str) -> Resource:
        """Return the resource with a name; the name of a child sheet's is ``resource.list``."""
        if name in self._resources:
            return self._resources[name]
        main, _, _ = str(name).partition(".")
        children = self._resources[main].children
        found = next((child for child in children if child.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._resources)

    def __len__(self) -> int:
        return len(self._resources)

    def named(self, name: str) -> Resource:
        """Return the resource with a name, in any accepted spelling.

        Raises ``UsageError`` with the known names if there is none.
        """
        known = resolve_name(name, self)
        if known is None and (other := resolve_name(name, _OTHER_NAMES)):
            known = resolve_name(_OTHER_NAMES[other], self)
        if known is not None:
            return self[known]
        raise UsageError(
            Text(
                pt="O recurso {name!r} não existe. {meant}Existem: {known}.",
                en="There is no resource {name!r}. {meant}There are: {known}.",
            ).format(name=name, meant=suggestion(name, self), known=", ".join(self))
        )


def load_catalogue(*own_folders: str | PathLike[str]) -> Catalogue:
    """Load the shipped resources, those of installed packages and those in the user's own folders.

    A resource in an own folder replaces one of the same name that is shipped, installed or in an
    earlier folder; an installed one replaces a shipped one. Missing folders are skipped. Raises
    ``SchemaFileError`` if a file is invalid, or two files of a folder or of installed packages have
    the same resource; ``ConfigError`` if an installed package cannot be found.
    """
    resources = [*_shipped_resources(), *_installed_resources()]
    for folder in own_folders:
        resources += _read_files(_own_files(Path(folder)))
    return Catalogue(resources)


def schema_files(folder: Path) -> list[Path]:
    """Return the schema files of a folder, including those of child sheets.

    Raises ``SchemaFileError`` if one is invalid.
    """
    resources = _read_files(_own_files(folder))
    return [one.source for main in resources for one in (main, *main.children)]


def _read_files(paths: Iterable[Path]) -> list[Resource]:
    resources: list[Resource] = []
    for path in paths:
        resources.append(read_schema_file(path, resources))
    return resources


@cache
def _installed_resources() -> tuple[Resource, ...]:
    folders = installed_schema_folders()
    return tuple(_read_files(path for folder in folders for path in _own_files(folder)))


def _own_files(folder: Path) -> list[Path]:
    """Return the schema files of a folder, without hidden ones."""
    files = folder.iterdir() if folder.is_dir() else ()
    return sorted(
        path
        for path in files
        if path.suffix.lower() in {".yaml", ".yml"} and not path.name.startswith(".")
    )


@cache
def _shipped_resources() -> tuple[Resource, ...]:
    """Return the resources of the shipped files from the JSON of
    ``docs/generate_shipped_schemas.py``, as YAML and the models take many times longer."""
    text = Path(__file__).with_name(SHIPPED_FILE).read_text(encoding="utf-8")
    folder, contents = shipped_folder("schemas"), json.loads(text, object_hook=_with_dates)

    def read(path: Path) -> Resource:
        content = contents[path.relative_to(folder).as_posix()]
        return _with_children(_resource(path, content), content, read)

    return tuple(read(folder / name) for name in contents if "/" not in name)


def _with_dates(block: dict[str, Any]) -> Any:
    return date.fromisoformat(block["date"]) if block.keys() == {"date"} else block
