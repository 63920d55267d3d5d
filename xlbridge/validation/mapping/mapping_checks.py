"""Check which columns, links, values and constants of a mapping its resource accepts."""

from collections.abc import Iterator

import numpy as np

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Catalogue, Column, Kind, Resource, pandera_checks
from xlbridge.resources.checks import CATALOGUE, RULES
from xlbridge.resources.references import REFERENCES, registry_named
from xlbridge.resources.yaml_files import YamlPath, unknown_value
from xlbridge.validation.mapping.application import type_value
from xlbridge.validation.mapping.mapping_file import (
    TO_FILL_IN,
    FoundMistake,
    MappedColumn,
    Scalar,
    SheetMapping,
)

_A_NUMBER = Text(pt="deve ser um número, sem aspas.", en="this must be a number, without quotes.")
_OR_A_NAME = Text(
    pt="{wrong} Para um nome, acrescente link: {registry}.",
    en="{wrong} For a name, add link: {registry}.",
)
_A_TEXT = Text(pt="deve ser um texto, entre aspas.", en="this must be a text, in quotes.")
_A_DATE = Text(
    pt="deve ser uma data, como 2026-01-31.", en="this must be a date, such as 2026-01-31."
)
_TO_FILL_IN = Text(pt="substitua ? pelo valor.", en="replace ? with the value.")
_ONLY_OF_DATES = Text(pt="month só vale para datas.", en="month is only valid for dates.")
_A_FLAG = Text(pt="deve ser true ou false.", en="this must be true or false.")


def require_fitting(mapping: SheetMapping, catalogue: Catalogue, resource: str | None) -> Resource:
    """Return the resource of a mapping.

    Raises ``UsageError`` if it is not the requested ``resource``, or with the line of each column,
    value and link that the resource does not accept.
    """
    if mapping.resource not in catalogue:
        message = unknown_value(mapping.resource, tuple(catalogue))
        raise mapping.error([(("resource",), message)])
    if resource is not None and resource != mapping.resource:
        raise UsageError(
            Text(
                pt="O mapeamento {mapping} é de {found}, e não de {wanted}.",
                en="The mapping {mapping} is for {found}, not for {wanted}.",
            ).format(mapping=mapping.path, found=mapping.resource, wanted=resource),
            Text(pt="Use só --map, sem --resource.", en="Use --map alone, without --resource."),
        )
    found = catalogue[mapping.resource]
    if mistakes := list(_mistakes(mapping, found)):
        raise mapping.error(mistakes)
    return found


_KEY_OF_RECORD = Text(
    pt="a chave é a do registro, em columns; tire-a daqui.",
    en="the key is that of the record, in columns; remove it from here.",
)
_SAME_KEY = Text(
    pt="os registros de uma linha teriam o mesmo {name}: dê a cada um, em items, um suffix próprio "
    "ou outra coluna.",
    en="the records of a row would have the same {name}: give each of them, in items, a suffix of "
    "its own or another column.",
)
_NOT_LINKABLE = Text(
    pt="esta coluna não contém o código de um registro que possa ser procurado.",
    en="this column does not hold the code of a record that can be looked up.",
)


def _mistakes(mapping: SheetMapping, resource: Resource) -> Iterator[FoundMistake]:
    """Yield the columns, links, constants and target values that the resource does not accept."""
    parts = {part.sheet: part for part in resource.children} | {resource.name: resource}
    base = resource.base or resource
    unlinked = {part.name: part for part in (base, *base.children)}
    for name in mapping.lists:
        if name not in parts:
            yield ("lists", name), unknown_value(name, tuple(parts))
    for path, mapped in mapping.all_columns:
        target = resource if path[0] == "columns" else parts.get(str(path[1]))
        if target is not None:
            yield from _column_mistakes(path, mapped, target, unlinked[target.name])
    items = () if mapping.records is None else mapping.records.items
    for name in resource.natural_keys if items else ():
        bodies = [block[name].body for block in items if name in block]
        is_shared = any(column.name == name for column in mapping.columns)
        if is_shared or any(bodies.count(body) > 1 or "constant" in body for body in bodies):
            yield ("lists", resource.name), _SAME_KEY.format(name=name)


def _column_mistakes(
    path: YamlPath, mapped: MappedColumn, resource: Resource, unlinked: Resource
) -> Iterator[FoundMistake]:
    """Yield what a resource or a list does not accept of a column; ``unlinked`` has no links."""
    column = unlinked.by_name.get(mapped.name)
    if column is None:
        yield path, unknown_value(mapped.name, tuple(resource.by_name))
    elif path[0] == "lists" and mapped.name == KEY:
        yield path, _KEY_OF_RECORD
    elif mapped.link is not None and registry_named(mapped.link) != column.references:
        registry = REFERENCES.get(column.references or "")
        known = "" if registry is None else registry.resource or column.references or ""
        message = unknown_value(mapped.link, (known,)) if known else _NOT_LINKABLE
        yield (*path, "link"), message
    if mapped.month is not None:
        if column is not None and column.kind is not Kind.DATE:
            yield (*path, "month"), _ONLY_OF_DATES
        for key in ("month", "later"):
            if getattr(mapped, key) == TO_FILL_IN:
                yield (*path, key), _TO_FILL_IN
        if not str(mapped.later).isdecimal() and mapped.later != TO_FILL_IN:
            yield (*path, "later"), _A_NUMBER
    values: dict[YamlPath, Scalar] = {
        (*path, "values", text): value
        for text, value in (mapped.values or {}).items()
        if value is not None
    }
    if not mapped.sources:
        values[*path, "constant"] = mapped.constant
    if (target := resource.by_name.get(mapped.name)) is not None:
        for place, value in values.items():
            if wrong := _wrong_value(target, value):
                is_name = wrong is _A_NUMBER and place[-1] == "constant" and target.references
                yield place, _named(target, wrong) if is_name else wrong


def _named(column: Column, wrong: Text) -> Text:
    """Return the message of a wrong value that may be the name of a record."""
    registry = REFERENCES[column.references or ""].resource or column.references
    return _OR_A_NAME.format(wrong=wrong, registry=registry)


def _wrong_value(column: Column, value: Scalar) -> Text | None:
    """Return the message that a value of the mapping file has another type than the column, or
    breaks the first of its rules; None if it is valid."""
    if value == TO_FILL_IN:
        return _TO_FILL_IN
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if column.kind.is_number and not is_number:
        return _A_NUMBER
    if column.kind is Kind.BOOLEAN and not isinstance(value, bool):
        return _A_FLAG
    if column.kind.is_text and not isinstance(value, str):
        return _A_TEXT
    if column.kind is Kind.DATE and not isinstance(value, str):
        return _A_DATE
    try:
        series, problems = type_value(column, value)
    except ValueError:
        return _A_DATE
    if len(problems):
        code = problems.finding_codes()[0]
        return CATALOGUE[code].message.format(**problems.remarks[problems.details[0]].details)
    if column.allowed and value not in column.allowed:
        return unknown_value(value, column.allowed)
    for name, check in pandera_checks(column).items():
        rule = RULES[name]
        if not rule.whole_column and not np.all(check(series).check_output):
            details = {"found": len(str(value)), **rule.details(column.checks[name])}
            return rule.finding.message.format(**details)
    return None
