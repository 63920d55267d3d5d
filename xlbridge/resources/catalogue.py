"""Catalogue of importable resources, read from the shipped and the user's own schema files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace as replace_fields

from xlbridge.errors import find_named, resolve_name
from xlbridge.i18n import Text
from xlbridge.resources.checks.all_rules import (
    RESOURCES_GROUP,
    checks_of,
    code_width,
    entry_points_of,
    not_loaded,
)
from xlbridge.resources.column import KIND_OF_DTYPE, Column
from xlbridge.resources.models import read_as
from xlbridge.resources.names import schemas_folder, shipped_files
from xlbridge.resources.remote import NO_IMPORT
from xlbridge.resources.resource import (
    CHILD_KEY,
    MAIN_KEY,
    ColumnBody,
    ColumnMetadata,
    Resource,
    RowCheck,
    SchemaFile,
    default_totals,
    with_titles,
)


def read_schema_file(path: Path, others: Iterable[Resource] = ()) -> Resource:
    """Read a pandera schema file with its ``metadata`` block.

    ``others`` are resources of the same folder, whose names are not allowed. Raises
    ``SchemaFileError`` with the file, line and place of each mistake, and the allowed values there.
    """
    # Late: it imports the whole interface, whose names a file may use.
    from xlbridge.resources.schema_validation import validated_content

    content = validated_content(path, {other.name: other.source for other in others})
    return _resource(path, content, read_schema_file)


def _resource(path: Path, content: Mapping[str, Any], read: Callable[[Path], Resource]) -> Resource:
    """Return the resource of a schema file; ``read`` reads the files of its child sheets."""
    file = read_as(SchemaFile, content)
    metadata = file.metadata
    columns = tuple(
        _column(name, body, metadata.columns.get(name), checks_of(content["columns"][name]))
        for name, body in file.columns.items()
    )
    title = file.title or metadata.resource
    codes = metadata.read_back.codes if metadata.read_back else ()
    main = Resource(
        name=metadata.resource,
        title=Text(pt=title, en=metadata.title_en or title),
        description=Text(pt=file.description, en=metadata.description_en or file.description),
        layout=metadata.layout,
        section=metadata.section,
        model=metadata.model,
        paths=metadata.paths or NO_IMPORT,
        create=metadata.create and metadata.create.with_codes(codes),
        natural_keys=metadata.natural_keys,
        columns=columns,
        totals=metadata.control_totals or default_totals(columns),
        row_checks=tuple(map(RowCheck.of, file.checks or ())),
        source=path,
        read_back=metadata.read_back
        and replace_fields(metadata.read_back, columns=tuple(column.name for column in columns)),
        change=metadata.change,
        changes=metadata.layouts,
    )
    if not metadata.children:
        return main
    required = bool(metadata.needs_children)
    key = replace(MAIN_KEY, required=required)
    return replace(
        main,
        columns=(key, *columns) if required else (*columns, key),
        children=tuple(
            replace(
                child,
                name=f"{main.name}.{name}",
                columns=(CHILD_KEY, *child.columns),
                row_checks=tuple(check.within_record() for check in child.row_checks),
                paths=NO_IMPORT,
            )
            for name, file in metadata.children.items()
            for child in [read(path.parent / file.file)]
        ),
        needs_children=metadata.needs_children,
        sums=metadata.sums,
    )


def _column(
    name: str, body: ColumnBody, extra: ColumnMetadata | None, checks: dict[str, dict[str, Any]]
) -> Column:
    extra = extra or ColumnMetadata()
    kind = extra.kind or KIND_OF_DTYPE[body.dtype]
    first_year, last_year = extra.usual_years
    return Column(
        name=name,
        kind=kind,
        required=not body.nullable,
        title=Text(pt=body.title or name, en=extra.title_en or name),
        description=Text(pt=body.description, en=extra.description_en or body.description),
        example=extra.example,
        references=extra.references,
        registers=extra.registers,
        checks=checks,
        width=code_width(kind, checks),
        usual_years=(first_year, last_year),
        month=extra.month,
        measure=extra.measure,
        units=tuple(extra.units),
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

    def with_titles(self, text: Text | str) -> str:
        """Return a text with titles for the names of any resource's columns; names that are also
        words of the language stay as they are."""
        return with_titles(text, self._titles)

    @cached_property
    def _titles(self) -> Mapping[str, Text]:
        columns = (column for one in self.values() for column in one.columns)
        return {column.name: column.title for column in columns if not column.name.islower()}

    def named(self, name: str) -> Resource:
        """Return the resource with a name, in any accepted spelling.

        Raises ``UsageError`` with the known names if there is none.
        """
        other = resolve_name(name, _OTHER_NAMES)
        if other is not None and resolve_name(name, self) is None and _OTHER_NAMES[other] in self:
            name = _OTHER_NAMES[other]
        missing = Text(pt="O recurso {name!r} não existe.", en="There is no resource {name!r}.")
        return find_named(name, self, missing)


def load_catalogue(*own_folders: str | PathLike[str]) -> Catalogue:
    """Load the shipped resources, those of installed packages and those in the user's own folders.

    A resource in an own folder replaces one of the same name that is shipped, installed or in an
    earlier folder; an installed one replaces a shipped one. Missing folders are skipped. Raises
    ``SchemaFileError`` if a file is invalid, or two files of a folder or of installed packages have
    the same resource; ``ConfigError`` if an installed package cannot be found.
    """
    resources = [*_common_resources()]
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


def _own_files(folder: Path) -> list[Path]:
    """Return the schema files of a folder, without hidden ones."""
    files = folder.iterdir() if folder.is_dir() else ()
    return sorted(
        path
        for path in files
        if path.suffix.lower() in {".yaml", ".yml"} and not path.name.startswith(".")
    )


@cache
def _common_resources() -> Sequence[Resource]:
    """Return the resources of the shipped files and of installed packages."""
    folder, contents = schemas_folder(), shipped_files()

    def read(path: Path) -> Resource:
        return _resource(path, contents[path.relative_to(folder).as_posix()], read)

    shipped = [read(folder / name) for name in contents if "/" not in name]
    installed = (path for folder in _installed_folders() for path in _own_files(folder))
    return [*shipped, *_read_files(installed)]


def _installed_folders() -> list[Path]:
    """Return the folders of installed packages with schema files, without importing them.

    Raises ``ConfigError`` with the package that cannot be found.
    """
    folders = []
    for entry in entry_points_of(RESOURCES_GROUP):
        try:
            found = find_spec(entry.module)
        except ImportError:
            found = None
        locations = found.submodule_search_locations if found else None
        if not locations:
            raise not_loaded(entry, Text(pt="não é um pacote", en="it is not a package"))
        folders.append(Path(locations[0]))
    return folders
