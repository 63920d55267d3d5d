"""Links of a plan: cells that name a record of a registry otherwise than by its code.

The remote system gives the codes out, so a sheet that refers to records of the same batch cannot
hold them. Until the records are there, a linked column is judged by the rules of the column that it
is linked to; after that, ``codes.py`` fills in the codes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from xlbridge.i18n import Text
from xlbridge.resources.catalogue import Catalogue
from xlbridge.resources.column import Column, Link
from xlbridge.resources.read_back import ReadBack
from xlbridge.resources.references import REFERENCES
from xlbridge.resources.resource import Resource
from xlbridge.wire.model import record_model
from xlbridge.yaml_files.form import unknown

Links = Mapping[str, str]
"""Columns of an import sheet, each with the column of the registry's resource that its cells hold
values of."""

_ONCE = "no_repeats"


def names_of(registry: str, catalogue: Catalogue) -> Mapping[str, str]:
    """Return the columns by which records of a registry can be named, with the fields of its
    listing that they come back in.
    """
    return names_in(catalogue[registry]) if registry in catalogue else {}


def names_in(resource: Resource) -> Mapping[str, str]:
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
    linkable = {c.name for c in columns if c.references and names_of(c.references, catalogue)}
    for name, by in links.items():
        known = [column for column in columns if column.name == name]
        allowed = ", ".join(sorted(linkable)) or "–"
        if not known:
            yield name, unknown(name, tuple(sorted(linkable)))
        elif name not in linkable:
            yield name, _without_names(known).format(column=name, allowed=allowed)
        elif not any(by in names_of(c.references, catalogue) for c in known if c.references):
            yield name, _no_name(by, known, catalogue)


def linked(resource: Resource, links: Links, catalogue: Catalogue) -> Resource:
    """Return the form of a resource in which the cells of its linked columns name records.

    A resource without such columns is returned as it is. In the form, what is found by values of
    those columns is not looked for.
    """
    columns = {
        column.name: _linked(column, column.references, links[column.name], catalogue)
        for column in resource.columns
        if column.name in links
        and column.references is not None
        and links[column.name] in names_of(column.references, catalogue)
    }
    if not columns:
        return resource
    return replace(
        resource,
        columns=tuple(columns.get(column.name, column) for column in resource.columns),
        read_back=_without(resource, set(columns)),
        unlinked=resource,
    )


def linked_catalogue(links: Links, catalogue: Catalogue) -> Catalogue:
    """Return the catalogue with the form of each of its resources that ``links`` gives it."""
    return Catalogue([linked(resource, links, catalogue) for resource in catalogue.values()])


def _linked(column: Column, registry: str, by: str, catalogue: Catalogue) -> Column:
    like = catalogue[registry].by_name[by]
    return replace(
        column,
        kind=like.kind,
        example=like.example,
        references=None,
        registers=None,
        checks={name: body for name, body in like.checks.items() if name != _ONCE},
        link=Link(registry, by, names_of(registry, catalogue)[by]),
    )


def _without(resource: Resource, columns: set[str]) -> ReadBack | None:
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


def _without_names(columns: list[Column]) -> Text:
    if any(column.references for column in columns):
        return Text(
            pt="{column} só se preenche com códigos; aqui cabem: {allowed}.",
            en="{column} takes nothing but codes; allowed here: {allowed}.",
        )
    return Text(
        pt="{column} não se refere a um cadastro; aqui cabem: {allowed}.",
        en="{column} refers to no registry; allowed here: {allowed}.",
    )


def _no_name(by: str, columns: list[Column], catalogue: Catalogue) -> Text:
    registries = {column.references: None for column in columns if column.references}
    allowed = {name: None for registry in registries for name in names_of(registry, catalogue)}
    titles = [REFERENCES[registry].title for registry in registries]
    return Text(
        pt="{by!r} não identifica um registro ({registry}); aqui cabem: {allowed}.",
        en="{by!r} does not tell one of {registry} from another; allowed here: {allowed}.",
    ).format(by=by, registry=titles[0], allowed=", ".join(allowed))
