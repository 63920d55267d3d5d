"""Links of a plan: cells that name a record of a registry by another key than its code.

The remote system assigns the codes, so a sheet that refers to records of the same batch cannot
hold them. Until the records exist, a linked column is judged by the rules of the column that it
is linked to; after that, ``linked_codes.py`` fills in the codes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from xlbridge.i18n import Text
from xlbridge.resources import REFERENCES, Catalogue, Column, Link, ReadBack, Resource
from xlbridge.resources.yaml_files import unknown_value
from xlbridge.wire import record_model

Links = Mapping[str, str]
"""Columns of an import sheet, each with the column of the registry's resource whose values its
cells hold."""

_UNIQUENESS_CHECK = "no_repeats"


def registry_key_fields(registry: str, catalogue: Catalogue) -> Mapping[str, str]:
    """Return the columns by which records of a registry can be named, with the fields of its
    listing that they come back in.
    """
    return key_fields(catalogue[registry]) if registry in catalogue else {}


def key_fields(resource: Resource) -> Mapping[str, str]:
    """Return the columns by which records of a resource can be named, with the fields of the
    listing that they come back in.

    They are natural keys of a resource that is called as a registry; others have none.
    """
    reference = REFERENCES.get(resource.name)
    if reference is None or reference.one_by_one:
        return {}
    model = record_model(reference.operation.data)
    if model is None:
        return {}
    lookups = () if resource.read_back is None else resource.read_back.lookups
    fields = {
        column: field
        for lookup in lookups
        if reference.operation.name in {operation.name for operation in lookup.operations}
        for column, field in lookup.key.items()
    }
    named = {column: fields.get(column, column) for column in resource.natural_keys}
    return {column: field for column, field in named.items() if field in model.model_fields}


def link_mistakes(
    links: Links, catalogue: Catalogue, resource: str | None = None
) -> Iterator[tuple[str, Text]]:
    """Yield the columns of ``links`` with what is wrong with them, and what is allowed there.

    Without a ``resource`` a link must fit at least one of the catalogue's.
    """
    resources = list(catalogue.values()) if resource is None else [catalogue[resource]]
    columns = [column for each in resources for column in each.columns]
    linkable = {
        c.name for c in columns if c.references and registry_key_fields(c.references, catalogue)
    }
    for name, by in links.items():
        known = [column for column in columns if column.name == name]
        allowed = ", ".join(sorted(linkable)) or "–"
        if not known:
            yield name, unknown_value(name, tuple(sorted(linkable)))
        elif name not in linkable:
            yield name, _not_linkable(known).format(column=name, allowed=allowed)
        elif not any(
            by in registry_key_fields(c.references, catalogue) for c in known if c.references
        ):
            yield name, _unknown_key(by, known, catalogue)


def linked_resource(resource: Resource, links: Links, catalogue: Catalogue) -> Resource:
    """Return the form of a resource in which the cells of its linked columns name records.

    A resource without such columns is returned as it is. In the form, what is found by values of
    those columns is not looked for.
    """
    columns = {
        column.name: _linked_column(column, column.references, links[column.name], catalogue)
        for column in resource.columns
        if column.name in links
        and column.references is not None
        and links[column.name] in registry_key_fields(column.references, catalogue)
    }
    if not columns:
        return resource
    return replace(
        resource,
        columns=tuple(columns.get(column.name, column) for column in resource.columns),
        read_back=_read_back_without(resource, set(columns)),
        base=resource,
    )


def linked_catalogue(links: Links, catalogue: Catalogue) -> Catalogue:
    """Return the catalogue with the form of each of its resources that ``links`` gives it."""
    return Catalogue(
        [linked_resource(resource, links, catalogue) for resource in catalogue.values()]
    )


def _linked_column(column: Column, registry: str, by: str, catalogue: Catalogue) -> Column:
    like = catalogue[registry].by_name[by]
    return replace(
        column,
        kind=like.kind,
        example=like.example,
        width=like.width,
        references=None,
        registers=None,
        checks={name: body for name, body in like.checks.items() if name != _UNIQUENESS_CHECK},
        link=Link(registry, by, registry_key_fields(registry, catalogue)[by]),
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
    return replace(read_back, lookups=lookups, columns=own) if lookups else None


def _not_linkable(columns: list[Column]) -> Text:
    if any(column.references for column in columns):
        return Text(
            pt="{column} só se preenche com códigos; aqui cabem: {allowed}.",
            en="{column} takes nothing but codes; allowed here: {allowed}.",
        )
    return Text(
        pt="{column} não se refere a um cadastro; aqui cabem: {allowed}.",
        en="{column} refers to no registry; allowed here: {allowed}.",
    )


def _unknown_key(by: str, columns: list[Column], catalogue: Catalogue) -> Text:
    registries = {column.references: None for column in columns if column.references}
    allowed = {
        name: None for registry in registries for name in registry_key_fields(registry, catalogue)
    }
    titles = [REFERENCES[registry].title for registry in registries]
    return Text(
        pt="{by!r} não identifica um registro ({registry}); aqui cabem: {allowed}.",
        en="{by!r} does not tell one of {registry} from another; allowed here: {allowed}.",
    ).format(by=by, registry=titles[0], allowed=", ".join(allowed))
