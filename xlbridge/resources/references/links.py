"""Links: cells that name a record of a registry by something else than its code.

The remote system assigns the codes, so a sheet that refers to records of the same batch cannot
hold them, and people know records by their documents and names anyway. Until the codes are known,
a linked column is judged by the rules of the column that it is linked to, or as text where it may
hold any of a record's names, or a value of another sheet; after that, ``upload/lookup/links.py``
fills in the codes.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import Catalogue
from xlbridge.resources.column import Column, Kind
from xlbridge.resources.references.registries import REFERENCES, Link, LinkName, SheetLink
from xlbridge.resources.remote.records import ReadBack
from xlbridge.resources.resource import Resource
from xlbridge.resources.yaml_files import unknown_value
from xlbridge.wire import record_model

Links = Mapping[str, str]
"""Columns of an import sheet, each with what its cells hold: the values of a column of the
registry's resource, or, where it is the registry's own name, any name of its records; or those of a
column of another sheet that was sent before, ``FILE#COLUMN``."""

_UNIQUENESS_CHECK = "no_repeats"
_IN_SHEET = "#"


def sheet_link(by: str) -> SheetLink | None:
    """Return the link to another sheet that a text such as ``clientes.xlsx#chave`` asks for, None
    where it asks for another one."""
    file, _, column = by.rpartition(_IN_SHEET)
    return SheetLink(Path(file), column) if file and column else None


def placed_links(links: Links, folder: Path) -> Links:
    """Return links whose files are taken from a folder."""
    placed = {}
    for name, by in links.items():
        found = sheet_link(by)
        placed[name] = by if found is None else f"{folder / found.file}{_IN_SHEET}{found.column}"
    return placed


def registry_called(name: str) -> str | None:
    """Return the registry that a resource's sheets register records in, or that has the name."""
    if name in REFERENCES:
        return name
    return next((key for key, one in REFERENCES.items() if one.resource == name), None)


def registry_keys(registry: str, catalogue: Catalogue) -> Mapping[str, str]:
    """Return the columns by which records of a registry can be told apart, with the fields of its
    listing that they come back in.
    """
    name = REFERENCES[registry].resource or registry
    return key_fields(catalogue[name]) if name in catalogue else {}


def key_fields(resource: Resource) -> Mapping[str, str]:
    """Return the columns by which records of a resource can be told apart, with the fields of the
    listing that they come back in.

    They are natural keys of a resource that is called as a registry; others have none.
    """
    registry = registry_called(resource.name)
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
    named = {column: fields.get(column, column) for column in resource.natural_keys}
    return {column: field for column, field in named.items() if field in model.model_fields}


def registry_names(registry: str, catalogue: Catalogue) -> tuple[LinkName, ...]:
    """Return all names of a registry's records: what tells them apart, and what they are called."""
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
    """Yield the columns of ``links`` with what is wrong with them, and what is allowed there.

    Without a ``resource`` a link must fit at least one of the catalogue's.
    """
    resources = list(catalogue.values()) if resource is None else [catalogue[resource]]
    every = [each for one in resources for each in (one, *one.children)]
    columns = [column for each in every for column in each.columns]
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
            yield name, _unknown_key(by, known, catalogue)


def require_links(links: Links, catalogue: Catalogue, resource: str | None) -> None:
    """Raise ``UsageError`` where links that a caller gives do not fit, for the first of them."""
    for column, mistake in link_mistakes(links, catalogue, resource):
        message = Text(pt="Link de {column}: {mistake}", en="Link of {column}: {mistake}")
        raise UsageError(
            message.format(column=column, mistake=mistake),
            Text(
                pt="Exemplo: --link codigoDoCliente=cliente",
                en="An example: --link codigoDoCliente=cliente",
            ),
        )


def linked_resource(resource: Resource, links: Links, catalogue: Catalogue) -> Resource:
    """Return the form of a resource in which the cells of its linked columns name records.

    A resource without such columns is returned as it is. In the form, what is found by values of
    those columns is not looked for.
    """
    columns = {
        column.name: linked
        for column in resource.columns
        if column.name in links
        and (linked := _column_linked_by(column, links[column.name], catalogue)) is not None
    }
    children = tuple(linked_resource(child, links, catalogue) for child in resource.children)
    if children != resource.children:
        resource = replace(resource, children=children, base=resource.base or resource)
    return _with_links(resource, columns)


def _with_links(resource: Resource, columns: Mapping[str, Column]) -> Resource:
    if not columns:
        return resource
    return replace(
        resource,
        columns=tuple(columns.get(column.name, column) for column in resource.columns),
        read_back=_read_back_without(resource, set(columns)),
        base=resource.base or resource,
    )


def _column_linked_by(column: Column, by: str, catalogue: Catalogue) -> Column | None:
    """Return the form of a column that a link asks for, None where it is none for the column."""
    elsewhere = sheet_link(by)
    if elsewhere is not None:
        return replace(_column_of_names(column), sheet_link=elsewhere)
    link = _link(column, by, catalogue)
    return None if link is None else _linked_column(column, link, catalogue)


def _column_of_names(column: Column) -> Column:
    """Return a column that takes any text."""
    plain = replace(column, references=None, registers=None)
    return replace(plain, kind=Kind.TEXT, example=None, width=None, checks={})


def listing_resource(
    resource: Resource, catalogue: Catalogue, columns: Collection[str] | None = None
) -> Resource:
    """Return the form of a resource whose columns take what lists of registries offer: the codes
    and names of their records. One that is linked already, or refers to no registry, stays.

    It is of all columns, or of some, those of a child sheet named ``list.column``.
    """
    children = tuple(
        listing_resource(child, catalogue, _columns_of_list(child.sheet, columns))
        for child in resource.children
    )
    if children != resource.children:
        resource = replace(resource, children=children, base=resource.base or resource)
    linked = {
        column.name: _linked_column(
            column,
            Link(
                column.references,
                registry_names(column.references, catalogue),
                is_loose=True,
                has_codes=True,
            ),
            catalogue,
        )
        for column in resource.columns
        if column.references and (columns is None or column.name in columns)
    }
    return _with_links(resource, linked)


def _columns_of_list(sheet: str, columns: Collection[str] | None) -> set[str] | None:
    if columns is None:
        return None
    return {name.removeprefix(f"{sheet}.") for name in columns if name.startswith(f"{sheet}.")}


def linked_catalogue(links: Links, catalogue: Catalogue) -> Catalogue:
    """Return the catalogue with the form of each of its resources that ``links`` gives it."""
    if not links:
        return catalogue
    return Catalogue(
        [linked_resource(resource, links, catalogue) for resource in catalogue.values()]
    )


def _link(column: Column, by: str, catalogue: Catalogue) -> Link | None:
    """Return the link of a column that a text asks for, None where there is none such."""
    registry = column.references
    if registry is None:
        return None
    names = registry_names(registry, catalogue)
    if registry_called(by) == registry:
        return Link(registry, names, is_loose=True)
    keys = registry_keys(registry, catalogue)
    found = tuple(name for name in names if name.column == by and by in keys)
    return Link(registry, found) if found else None


def _linked_column(column: Column, link: Link, catalogue: Catalogue) -> Column:
    if link.is_loose:
        return replace(_column_of_names(column), link=link)
    linked = replace(column, references=None, registers=None, link=link)
    (name,) = link.names
    like = catalogue[REFERENCES[link.registry].resource or link.registry].by_name[name.column]
    return replace(
        linked,
        kind=like.kind,
        example=like.example,
        width=like.width,
        checks={name: body for name, body in like.checks.items() if name != _UNIQUENESS_CHECK},
    )


def _read_back_without(resource: Resource, columns: set[str]) -> ReadBack | None:
    read_back = resource.read_back
    if read_back is None:
        return None
    lookups = tuple(
        lookup
        for lookup in read_back.lookups
        if columns.isdisjoint({*lookup.key, *lookup.filters.values(), *lookup.when})
    )
    own = tuple(name for name in read_back.columns if name not in columns)
    found = lookups or read_back.number_operations
    return replace(read_back, lookups=lookups, columns=own) if found else None


_NOT_LINKABLE = Text(
    pt="{column} não se refere a um cadastro; aqui cabem: {allowed}.",
    en="{column} refers to no registry; allowed here: {allowed}.",
)


def _unknown_key(by: str, columns: list[Column], catalogue: Catalogue) -> Text:
    registries = list(dict.fromkeys(column.references for column in columns if column.references))
    allowed = {name: None for one in registries for name in registry_keys(one, catalogue)}
    allowed |= {REFERENCES[one].resource or one: None for one in registries}
    return Text(
        pt="{by!r} não identifica um registro ({registry}); aqui cabem: {allowed}.",
        en="{by!r} does not tell one of {registry} from another; allowed here: {allowed}.",
    ).format(by=by, registry=REFERENCES[registries[0]].title, allowed=", ".join(allowed))
