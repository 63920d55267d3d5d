"""Links: columns whose cells identify records of a registry by other values than their codes.

The remote system assigns the codes, so a sheet cannot hold those of records in the same batch, and
people know records by their documents and names. A linked column is validated by the rules of the
column that it is linked to, or as text if it may hold any name of a record or a value of another
sheet; ``upload/lookup/links.py`` then replaces the values by codes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace as replace_fields

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import Catalogue
from xlbridge.resources.column import Column, Kind, Link, LinkName, SheetLink
from xlbridge.resources.references import REFERENCES, registry_named
from xlbridge.resources.resource import Resource
from xlbridge.resources.yaml_files import unknown_value
from xlbridge.wire import record_model

__all__ = [
    "key_fields",
    "link_mistakes",
    "linked_catalogue",
    "listing_resource",
    "placed_links",
    "require_links",
    "sheet_link",
]

Links = Mapping[str, str]
"""Links of an import sheet by column: a column of the registry's resource; the registry's name, for
any name of its records; or ``FILE#COLUMN``, for a column of a sheet that was sent before."""

_NO_WORDS: Mapping[str, Collection[str]] = MappingProxyType({})
_UNIQUENESS_CHECK = "no_repeats"
_IN_SHEET = "#"


def sheet_link(by: str) -> SheetLink | None:
    """Parse a link to another sheet such as ``clientes.xlsx#chave``, None if it is another link."""
    file, _, column = by.rpartition(_IN_SHEET)
    return SheetLink(Path(file), column) if file and column else None


def placed_links(links: Links, folder: Path) -> Links:
    """Resolve the files of links relative to a folder."""
    resolved = {}
    for name, by in links.items():
        link = sheet_link(by)
        resolved[name] = by if link is None else f"{folder / link.file}{_IN_SHEET}{link.column}"
    return resolved


def registry_keys(registry: str, catalogue: Catalogue) -> Mapping[str, str]:
    """Return the columns that identify records of a registry, with their fields in its listing."""
    name = REFERENCES[registry].resource or registry
    return key_fields(catalogue[name]) if name in catalogue else {}


def key_fields(resource: Resource) -> Mapping[str, str]:
    """Return the natural keys of a registry's resource, with their fields in the listing; nothing
    for other resources."""
    registry = registry_named(resource.name)
    if registry is None or REFERENCES[registry].one_by_one:
        return {}
    operation = REFERENCES[registry].operation
    model = record_model(operation.data)
    if model is None:
        return {}
    lookups = () if resource.read_back is None else resource.read_back.lookups
    fields = {
        column: field
        for lookup in lookups
        if operation.name in lookup.operation_names
        for column, field in lookup.key.items()
    }
    keys = {column: fields.get(column, column) for column in resource.natural_keys}
    return {column: field for column, field in keys.items() if field in model.model_fields}


def registry_names(registry: str, catalogue: Catalogue) -> tuple[LinkName, ...]:
    """Return all names of a registry's records: their keys and their label."""
    reference = REFERENCES[registry]
    keys = registry_keys(registry, catalogue)
    columns = catalogue[reference.resource or registry].by_name if keys else {}
    names = [LinkName(column, field, columns[column].kind) for column, field in keys.items()]
    if reference.label not in keys.values():
        names.append(LinkName(reference.label, reference.label, Kind.TEXT))
    return tuple(names)


def link_mistakes(
    links: Links, catalogue: Catalogue, resource: str | None = None
) -> Iterator[tuple[str, Text]]:
    """Yield the columns of ``links`` with mistakes, and their messages.

    Without a ``resource``, a link must fit at least one of the catalogue's.
    """
    mains = list(catalogue.values()) if resource is None else [catalogue[resource]]
    columns = [c for main in mains for one in (main, *main.children) for c in one.columns]
    linkable = {column.name for column in columns if column.references}
    for name, by in links.items():
        known = [column for column in columns if column.name == name]
        if not known:
            yield name, unknown_value(name, tuple(sorted(linkable)))
        elif sheet_link(by) is not None:
            continue
        elif name not in linkable:
            allowed = ", ".join(sorted(linkable)) or "–"
            yield name, _NOT_LINKABLE.format(column=name, allowed=allowed)
        elif not any(_link(column, by, catalogue) for column in known):
            names = (column.references for column in known if column.references)
            registries = list(dict.fromkeys(names))
            keys = {key: None for one in registries for key in registry_keys(one, catalogue)}
            keys |= {REFERENCES[one].resource or one: None for one in registries}
            title = REFERENCES[registries[0]].title
            yield name, _UNKNOWN_KEY.format(by=by, registry=title, allowed=", ".join(keys))


def require_links(links: Links, catalogue: Catalogue, resource: str | None) -> None:
    """Raise ``UsageError`` for the first link that does not fit."""
    for column, mistake in link_mistakes(links, catalogue, resource):
        message = Text(pt="Link de {column}: {mistake}", en="Link of {column}: {mistake}")
        raise UsageError(
            message.format(column=column, mistake=mistake),
            Text(
                pt="Exemplo: --link codigoDoCliente=cliente",
                en="An example: --link codigoDoCliente=cliente",
            ),
        )


def listing_resource(
    resource: Resource,
    catalogue: Catalogue,
    columns: Collection[str] | None = None,
    words: Mapping[str, Collection[str]] = _NO_WORDS,
) -> Resource:
    """Return a resource whose columns accept codes and names of registries' records, as offered by
    a template's lists.

    ``columns`` are the listed ones, those of a child sheet as ``list.column``; None for all.
    ``words`` are what columns have instead of values.
    """

    def linked(part: Resource, column: Column) -> Column | None:
        name = column.name if part is resource else f"{part.sheet}.{column.name}"
        new = None
        if column.references and (columns is None or name in columns):
            names = registry_names(column.references, catalogue)
            link = Link(column.references, names, is_loose=True, has_codes=True)
            new = _linked_column(column, link, catalogue)
        if name in words:
            known = {"isin": {"value": [*words[name]]}}
            own = replace(_text_column(column), references=column.references)
            new = replace(new or own, checks=known)
        return new

    return _with_links(resource, linked)


def _with_links(
    resource: Resource, linked: Callable[[Resource, Column], Column | None]
) -> Resource:
    """Return a resource and its lists with linked columns, None for one that has no link.

    Lookups that use values of linked columns are dropped.
    """
    children = tuple(_with_links(child, linked) for child in resource.children)
    columns = {c.name: new for c in resource.columns if (new := linked(resource, c)) is not None}
    if not columns and children == resource.children:
        return resource
    read_back = resource.read_back
    if columns and read_back is not None:
        lookups = tuple(
            lookup
            for lookup in read_back.lookups
            if columns.keys().isdisjoint({*lookup.key, *lookup.filters.values(), *lookup.when})
        )
        remaining = tuple(name for name in read_back.columns if name not in columns)
        can_find = lookups or read_back.number_operations
        read_back = (
            replace_fields(read_back, lookups=lookups, columns=remaining) if can_find else None
        )
    return replace(
        resource,
        columns=tuple(columns.get(column.name, column) for column in resource.columns),
        children=children,
        read_back=read_back,
        base=resource.base or resource,
    )


def _text_column(column: Column) -> Column:
    """Return the column with any text as its values."""
    unlinked = replace(column, references=None, registers=None)
    return replace(unlinked, kind=Kind.TEXT, example=None, width=None, checks={})


def linked_catalogue(links: Links, catalogue: Catalogue) -> Catalogue:
    """Return the catalogue with the linked columns of each resource."""
    if not links:
        return catalogue

    def linked(_: Resource, column: Column) -> Column | None:
        if (by := links.get(column.name)) is None:
            return None
        if (to_sheet := sheet_link(by)) is not None:
            return replace(_text_column(column), sheet_link=to_sheet)
        link = _link(column, by, catalogue)
        return None if link is None else _linked_column(column, link, catalogue)

    return Catalogue([_with_links(resource, linked) for resource in catalogue.values()])


def _link(column: Column, by: str, catalogue: Catalogue) -> Link | None:
    """Return the link of a column to a registry's records, None if it does not fit."""
    registry = column.references
    if registry is None:
        return None
    names = registry_names(registry, catalogue)
    if registry_named(by) == registry:
        return Link(registry, names, is_loose=True)
    keys = registry_keys(registry, catalogue)
    found = tuple(name for name in names if name.column == by and by in keys)
    return Link(registry, found) if found else None


def _linked_column(column: Column, link: Link, catalogue: Catalogue) -> Column:
    if link.is_loose:
        return replace(_text_column(column), link=link)
    linked = replace(column, references=None, registers=None, link=link)
    (name,) = link.names
    key = catalogue[REFERENCES[link.registry].resource or link.registry].by_name[name.column]
    return replace(
        linked,
        kind=key.kind,
        example=key.example,
        width=key.width,
        checks={name: body for name, body in key.checks.items() if name != _UNIQUENESS_CHECK},
    )


_NOT_LINKABLE = Text(
    pt="{column} não se refere a um cadastro; são aceitos: {allowed}.",
    en="{column} refers to no registry; allowed here: {allowed}.",
)
_UNKNOWN_KEY = Text(
    pt="{by!r} não identifica um registro ({registry}); são aceitos: {allowed}.",
    en="{by!r} does not identify a record of {registry}; allowed here: {allowed}.",
)
