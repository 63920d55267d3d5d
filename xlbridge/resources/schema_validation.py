"""Validation of a schema file: format, unknown names, contradictions, unsuitable rules.

Examples are checked value by value, without the libraries for whole columns.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from xlbridge.errors import SchemaFileError
from xlbridge.i18n import Text
from xlbridge.resources.checks import DOCUMENTS, ROW_RULES, RULES, bare_document
from xlbridge.resources.checks.all_rules import checks_of
from xlbridge.resources.checks.rule import Statistics
from xlbridge.resources.column import KIND_OF_DTYPE, Kind, column_changes_since
from xlbridge.resources.models import read_as
from xlbridge.resources.names import normalize_header
from xlbridge.resources.resource import Metadata, SchemaFile, schema_file
from xlbridge.resources.schema_content import completed, normalized
from xlbridge.resources.yaml_files import (
    TYPE_TEXTS,
    Mistake,
    YamlPath,
    document_mistake,
    format_mistakes,
    format_yaml_value,
    mistakes_of,
    read_document,
    unknown_value,
)
from xlbridge.wire import WireModel, wire_model

_PYTHON_TYPES: Mapping[str, tuple[type | tuple[type, ...], Text]] = {
    "str": (str, Text(pt="um texto, entre aspas", en="a text, in quotes")),
    "Int64": (int, TYPE_TEXTS["integer"]),
    "Float64": ((int, float), TYPE_TEXTS["number"]),
    "datetime64[us]": (date, Text(pt="uma data, como 2026-12-31", en="a date, as 2026-12-31")),
    "boolean": (bool, TYPE_TEXTS["boolean"]),
}


def example_error(kind: Kind, checks: Mapping[str, Statistics], example: object) -> Text | None:
    """Return the requirement that an example does not meet, None if it is valid."""
    words = dtype_error(example, kind.dtype)
    if words is not None:
        return words
    if kind in DOCUMENTS and not DOCUMENTS[kind].is_valid(bare_document(str(example))):
        return RULES[kind].wording({})
    for name, statistics in checks.items():
        test = RULES[name].value_test
        if test is not None and not test(example, statistics):
            return RULES[name].wording(statistics)
    return None


def dtype_error(value: object, dtype: str) -> Text | None:
    """Return the type that a value for a column of a dtype must have, None if it has it."""
    expected, words = _PYTHON_TYPES[dtype]
    # In Python a bool is an int.
    if not isinstance(value, expected) or (isinstance(value, bool) and dtype != "boolean"):
        return words
    return None


_Content = Mapping[str, Any]
_Found = Iterator[tuple[YamlPath, Text]]
"""Mistakes: their YAML paths and messages."""


def _unsuitable_rules(root: _Content) -> _Found:
    """Yield the YAML paths and messages of unsuitable rules, of columns, then of rows."""
    for name, body in root["columns"].items():
        for rule, statistics in checks_of(body).items():
            for message in _unsuitable_for_column(body["dtype"], rule, statistics):
                yield ("columns", name, rule), message
        if body.get("required", not body.get("nullable", False)) == body.get("nullable", False):
            yield ("columns", name, "required"), _REQUIRED_CONTRADICTS_NULLABLE
    dtypes = {name: body["dtype"] for name, body in root["columns"].items()}
    for number, check in enumerate(root.get("checks") or ()):
        for key, message in _unsuitable_for_rows(check, dtypes):
            yield ("checks", number, key), message


_REQUIRED_CONTRADICTS_NULLABLE = Text(
    pt="required e nullable se contradizem: a coluna obrigatória tem required: true e "
    "nullable: false.",
    en="required and nullable contradict each other: a required column has required: true and "
    "nullable: false.",
)


def _unsuitable_for_column(dtype: str, name: str, statistics: Statistics) -> Iterator[Text]:
    rule = RULES[name]
    if dtype not in rule.dtypes:
        yield _wrong_dtype(name, dtype, rule.dtypes)
        return
    # Whole numbers may be compared with any number.
    unsuitable = [
        message
        for statistic in rule.column_values
        for written in [statistics.get(statistic, ())]
        for value in (written if isinstance(written, (list, tuple)) else [written])
        if (message := _wrong_value(value, "Float64" if dtype == "Int64" else dtype)) is not None
    ]
    yield from unsuitable
    for statistic in rule.patterns:
        try:
            re.compile(statistics[statistic])
        except re.error as error:
            yield Text(
                pt="não é uma expressão regular válida: {why}.",
                en="this is not a valid regular expression: {why}.",
            ).format(why=error)
    low, high = statistics.get("min_value"), statistics.get("max_value")
    if not unsuitable and low is not None and high is not None and low > high:
        yield Text(
            pt="min_value é maior que max_value: nenhum valor seria aceito.",
            en="min_value is greater than max_value: no value would be accepted.",
        )


def _unsuitable_for_rows(check: _Content, dtypes: Mapping[str, str]) -> Iterator[tuple[str, Text]]:
    rule = ROW_RULES[check["options"]["check_name"]]
    column, other = check["column"], check.get("other", "")
    if column in _as_set(other) | _as_set(check.get("columns")) and "other" in check:
        message = Text(
            pt="{column} seria comparada consigo mesma.",
            en="{column} would be compared with itself.",
        )
        yield "column", message.format(column=column)
    # A conditional rule of one column does not compare it with the other.
    compared = ("column",) if "check" in check else ("column", "columns", "other")
    allowed = RULES[check["check"]].dtypes if "check" in check else rule.dtypes
    for key in compared if allowed else ():
        for name in sorted(_as_set(check.get(key))):
            if dtypes[name] not in allowed:
                yield key, _wrong_dtype(check["options"]["check_name"], dtypes[name], allowed)
    if other in dtypes:
        for value in check.get("values", ()):
            mistake = None if value is None else _wrong_value(value, dtypes[other])
            if mistake is not None:
                yield "values", mistake


def _as_set(names: object) -> set[str]:
    if isinstance(names, str):
        return {names}
    return set(names) if isinstance(names, Sequence) else set()


def _wrong_dtype(rule: str, dtype: str, allowed: frozenset[str]) -> Text:
    return Text(
        pt="{rule} não serve para uma coluna de dtype {dtype}, só para: {allowed}.",
        en="{rule} is not for a column of dtype {dtype}, only for: {allowed}.",
    ).format(rule=rule, dtype=dtype, allowed=", ".join(sorted(allowed)))


def _wrong_value(value: object, dtype: str) -> Text | None:
    expected = dtype_error(value, dtype)
    if expected is None:
        return None
    return Text(
        pt="{value} não pode ser valor da coluna: deveria ser {expected}.",
        en="{value} cannot be a value of the column: it should be {expected}.",
    ).format(value=format_yaml_value(value), expected=expected)


def validated_content(path: Path, others: Mapping[str, Path]) -> _Content:
    """Return the content of a valid schema file; ``others`` are the files of other resources.

    Raises ``SchemaFileError`` with the file, line and place of each mistake, and the allowed values
    there.
    """
    document = read_document(path)
    if isinstance(document, Mistake):
        raise _schema_file_error(path, [document])
    document.content = normalized(completed(document.content), path)
    columns = document.content.get("columns") if isinstance(document.content, Mapping) else None
    names = columns if isinstance(columns, Mapping) else ()
    mistakes = mistakes_of(document, schema_file(), names)
    if not mistakes:
        metadata = read_as(SchemaFile, document.content).metadata
        found = [
            *_contradictions(document.content, metadata),
            *_unknown_factors(path.parent, metadata),
        ]
        if (name := metadata.resource) in others:
            message = Text(pt="{name!r} já está em {file}.", en="{name!r} is already in {file}.")
            duplicate = message.format(name=name, file=others[name])
            found.insert(0, (("metadata", "resource"), duplicate))
        mistakes = [document_mistake(document, *mistake) for mistake in found]
    if mistakes:
        raise _schema_file_error(path, mistakes)
    content: _Content = document.content
    return content


def _schema_file_error(path: Path, mistakes: Sequence[Mistake]) -> SchemaFileError:
    return SchemaFileError(
        format_mistakes(path, mistakes),
        Text(
            pt="Para ver o que o arquivo pode conter: xlbridge resources --json-schema",
            en="To see what the file may contain: xlbridge resources --json-schema",
            page=Text(
                pt="Peça a quem escreveu o arquivo que o corrija.",
                en="Ask the person who wrote the file to correct it.",
            ),
        ),
    )


def _contradictions(root: _Content, metadata: Metadata) -> _Found:
    """Yield contradictions between parts of the file, and names that do not exist."""
    names = tuple(root["columns"])
    unsuitable = list(_unsuitable_rules(root))
    with_unsuitable = {path[1] for path, _ in unsuitable if path[0] == "columns"}
    yield from unsuitable
    yield from _column_contradictions(root, metadata, with_unsuitable)
    yield from _shared_headers(root, metadata)
    yield from _changed_columns(names, metadata)
    amount = None if metadata.control_totals is None else metadata.control_totals.amount
    if amount is not None:
        extra = metadata.columns.get(amount)
        if extra is None or extra.kind is not Kind.MONEY:
            yield ("metadata", "control_totals", "amount"), _ONLY_MONEY
    for layout in metadata.layouts:
        if int(layout) >= metadata.layout:
            yield ("metadata", "layouts", layout), _LATER_LAYOUT.format(current=metadata.layout)
    try:
        is_model = not metadata.model or issubclass(wire_model(metadata.model), WireModel)
    except (ImportError, AttributeError, ValueError, TypeError):
        is_model = False
    if not is_model:
        message = Text(
            pt="{name!r} não é um modelo da interface.",
            en="{name!r} is not a model of the interface.",
        )
        yield ("metadata", "model"), message.format(name=metadata.model)


def _unknown_factors(folder: Path, metadata: Metadata) -> _Found:
    """Yield the list and the columns of the amount of the control totals that do not exist.

    Raises ``SchemaFileError`` if the schema file of the list is not valid.
    """
    products = metadata.control_totals and metadata.control_totals.products
    if not products:
        return
    place = ("metadata", "control_totals", "products")
    if products.sheet not in metadata.children:
        yield (*place, "sheet"), unknown_value(products.sheet, metadata.children)
        return
    columns = validated_content(folder / metadata.children[products.sheet].file, {})["columns"]
    for number, name in enumerate(products.columns):
        if name not in columns:
            yield (*place, "columns", number), unknown_value(name, columns)


_ONLY_MONEY = Text(
    pt="só uma coluna de kind money pode ser somada.",
    en="only a column of kind money can be added up.",
)
_LATER_LAYOUT = Text(
    pt="os leiautes anteriores vêm antes do atual, que é {current}.",
    en="earlier layouts come before the current one, which is {current}.",
)


def _column_contradictions(
    root: _Content, metadata: Metadata, with_unsuitable: Collection[object]
) -> _Found:
    """Yield contradictions between the metadata of a column and the column.

    The examples of columns with unsuitable rules cannot be checked.
    """
    for name, extra in metadata.columns.items():
        if extra is None:
            continue
        body = root["columns"][name]
        kind = extra.kind or KIND_OF_DTYPE[body["dtype"]]
        if kind.dtype != body["dtype"]:
            message = Text(
                pt="{kind} não combina com o dtype {dtype}.",
                en="{kind} does not match the dtype {dtype}.",
            )
            place = ("metadata", "columns", name, "kind")
            yield place, message.format(kind=kind, dtype=body["dtype"])
            continue
        if extra.example is None or name in with_unsuitable:
            continue
        expected = example_error(kind, checks_of(body), extra.example)
        if expected is not None:
            message = Text(
                pt="a coluna não aceita o exemplo {example}; aceita: {expected}.",
                en="the column does not accept the example {example}; it accepts: {expected}.",
            )
            place = ("metadata", "columns", name, "example")
            example = format_yaml_value(extra.example)
            yield place, message.format(example=example, expected=expected)


def _shared_headers(root: _Content, metadata: Metadata) -> _Found:
    """Yield titles that also name another column."""
    known = {normalize_header(name): name for name in root["columns"]}
    for name, body in root["columns"].items():
        extra = metadata.columns.get(name)
        for place, title in (
            (("columns", name, "title"), body.get("title")),
            (("metadata", "columns", name, "title_en"), extra and extra.title_en),
        ):
            other = known.setdefault(normalize_header(title or name), name)
            if other != name:
                message = Text(
                    pt="{title!r} já é o título da coluna {other}.",
                    en="{title!r} is the title of the column {other}.",
                )
                yield place, message.format(title=title, other=other)


def _changed_columns(names: tuple[str, ...], metadata: Metadata) -> _Found:
    """Yield changes in earlier layouts that contradict the list of columns."""
    for layout, change in metadata.layouts.items():
        place = ("metadata", "layouts", layout)
        current_names = column_changes_since(metadata.layouts, int(layout))
        for old in change.renamed:
            name = current_names[old]
            if name is not None and name not in names:
                yield (*place, "renamed", old), unknown_value(name, names)
        for number, removed in enumerate(change.removed):
            if removed in names:
                message = Text(
                    pt="{column!r} continua entre as colunas.",
                    en="{column!r} is still among the columns.",
                )
                yield (*place, "removed", number), message.format(column=removed)
