"""Validation of a schema file: format, unknown names, contradictions, unsuitable rules.

Examples are checked value by value, without the libraries for whole columns.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from xlbridge.errors import SchemaFileError
from xlbridge.i18n import Text
from xlbridge.resources.checks import DOCUMENTS, ROW_RULES, RULES, bare_document
from xlbridge.resources.checks.all_rules import checks_of
from xlbridge.resources.checks.rule import Statistics
from xlbridge.resources.column import normalize_header
from xlbridge.resources.kind import KIND_OF_DTYPE, Kind
from xlbridge.resources.model_columns import completed
from xlbridge.resources.pandera_form import normalized
from xlbridge.resources.resource import column_changes_since, layout_changes
from xlbridge.resources.schema_format import schema_file_format
from xlbridge.resources.yaml_files import (
    Mistake,
    YamlDocument,
    YamlPath,
    document_mistake,
    format_mistakes,
    mistakes_of,
    read_document,
    unknown_value,
)
from xlbridge.resources.yaml_files.validation import format_yaml_value
from xlbridge.wire import WireModel, wire_model

_PYTHON_TYPES: Mapping[str, tuple[type | tuple[type, ...], Text]] = {
    "str": (str, Text(pt="um texto, entre aspas", en="a text, in quotes")),
    "Int64": (int, Text(pt="um inteiro", en="a whole number")),
    "Float64": ((int, float), Text(pt="um número", en="a number")),
    "datetime64[us]": (date, Text(pt="uma data, como 2026-12-31", en="a date, as 2026-12-31")),
    "boolean": (bool, Text(pt="true ou false", en="true or false")),
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
_Unsuitable = Iterator[tuple[YamlPath, Text]]


def unsuitable_rules(root: _Content) -> _Unsuitable:
    """Yield the YAML paths and messages of unsuitable rules, of columns, then of rows.

    Unknown columns are reported elsewhere.
    """
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
        for value in _as_list(statistics.get(statistic, ()))
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


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


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
        for name in sorted(_as_set(check.get(key)) & dtypes.keys()):
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


def validated_document(path: Path, others: Mapping[str, Path]) -> YamlDocument:
    """Return the document of a valid schema file; ``others`` are the files of other resources.

    Raises ``SchemaFileError`` with the file, line and place of each mistake, and the allowed values
    there.
    """
    document = read_document(path)
    if isinstance(document, Mistake):
        raise _schema_file_error(path, [document])
    document.content = normalized(completed(document.content), path)
    mistakes = mistakes_of(document, schema_file_format())
    mistakes = mistakes or [*_duplicate_resource(document, others), *_contradictions(document)]
    if mistakes:
        raise _schema_file_error(path, mistakes)
    return document


def _duplicate_resource(document: YamlDocument, others: Mapping[str, Path]) -> Iterator[Mistake]:
    name = document.content["metadata"]["resource"]
    if name in others:
        message = Text(pt="{name!r} já está em {file}.", en="{name!r} is already in {file}.")
        path = ("metadata", "resource")
        yield document_mistake(document, path, message.format(name=name, file=others[name]))


def _schema_file_error(path: Path, mistakes: Sequence[Mistake]) -> SchemaFileError:
    return SchemaFileError(
        format_mistakes(path, mistakes),
        Text(
            pt="Para ver o que o arquivo pode conter: xlbridge resources --json-schema",
            en="To see what the file may contain: xlbridge resources --json-schema",
        ),
    )


def _contradictions(document: YamlDocument) -> Iterator[Mistake]:
    """Yield contradictions between parts of the file, and names that do not exist."""
    root, metadata = document.content, document.content["metadata"]
    names = tuple(root["columns"])
    mistake = partial(document_mistake, document)
    for path, name in _column_names(root):
        if name not in names:
            yield mistake(path, unknown_value(name, names))
    unsuitable = list(unsuitable_rules(root))
    with_unsuitable = {path[1] for path, _ in unsuitable if path[0] == "columns"}
    for path, message in chain(
        unsuitable,
        _column_contradictions(root, with_unsuitable),
        _shared_headers(root),
        _changed_columns(root),
    ):
        yield mistake(path, message)
    amount = metadata.get("control_totals", {}).get("amount")
    if amount in names and _declared_kind(metadata, amount) != Kind.MONEY:
        message = Text(
            pt="só uma coluna de kind money pode ser somada.",
            en="only a column of kind money can be added up.",
        )
        yield mistake(("metadata", "control_totals", "amount"), message)
    current = metadata.get("layout", 1)
    for layout in metadata.get("layouts", {}):
        if int(layout) >= current:
            message = Text(
                pt="os leiautes anteriores vêm antes do atual, que é {current}.",
                en="earlier layouts come before the current one, which is {current}.",
            ).format(current=current)
            yield mistake(("metadata", "layouts", layout), message)
    if "model" in metadata and not _is_model(metadata["model"]):
        message = Text(
            pt="{name!r} não é um modelo da interface.",
            en="{name!r} is not a model of the interface.",
        ).format(name=metadata["model"])
        yield mistake(("metadata", "model"), message)


def _column_contradictions(
    root: _Content, with_unsuitable: Collection[object]
) -> Iterator[tuple[YamlPath, Text]]:
    """Yield contradictions between the metadata of a column and the column.

    The examples of columns with unsuitable rules cannot be checked.
    """
    for name, extra in (root["metadata"].get("columns") or {}).items():
        body = root["columns"].get(name)
        if body is None or extra is None:
            continue
        kind = Kind(extra.get("kind", KIND_OF_DTYPE[body["dtype"]]))
        if kind.dtype != body["dtype"]:
            message = Text(
                pt="{kind} não combina com o dtype {dtype}.",
                en="{kind} does not match the dtype {dtype}.",
            )
            place = ("metadata", "columns", name, "kind")
            yield place, message.format(kind=kind, dtype=body["dtype"])
            continue
        example = extra.get("example")
        if example is None or name in with_unsuitable:
            continue
        expected = example_error(kind, checks_of(body), example)
        if expected is not None:
            message = Text(
                pt="a coluna não aceita o exemplo {example}; aceita: {expected}.",
                en="the column does not accept the example {example}; it accepts: {expected}.",
            )
            place = ("metadata", "columns", name, "example")
            yield place, message.format(example=format_yaml_value(example), expected=expected)


def _shared_headers(root: _Content) -> Iterator[tuple[YamlPath, Text]]:
    """Yield titles that also name another column."""
    known = {normalize_header(name): name for name in root["columns"]}
    for name, body in root["columns"].items():
        extra = (root["metadata"].get("columns") or {}).get(name) or {}
        for place, title in (
            (("columns", name, "title"), body.get("title")),
            (("metadata", "columns", name, "title_en"), extra.get("title_en")),
        ):
            other = known.setdefault(normalize_header(title or name), name)
            if other != name:
                message = Text(
                    pt="{title!r} já é o título da coluna {other}.",
                    en="{title!r} is the title of the column {other}.",
                )
                yield place, message.format(title=title, other=other)


def _changed_columns(root: _Content) -> Iterator[tuple[YamlPath, Text]]:
    """Yield changes in earlier layouts that contradict the list of columns."""
    layouts = root["metadata"].get("layouts", {})
    changes = layout_changes(layouts)
    for layout, change in layouts.items():
        current_names = column_changes_since(changes, int(layout))
        for old in change.get("renamed", {}):
            name = current_names[old]
            if name is not None and name not in root["columns"]:
                path: YamlPath = ("metadata", "layouts", layout, "renamed", old)
                yield path, unknown_value(name, tuple(root["columns"]))
        for number, removed in enumerate(change.get("removed", ())):
            if removed in root["columns"]:
                message = Text(
                    pt="{column!r} continua entre as colunas.",
                    en="{column!r} is still among the columns.",
                )
                path = ("metadata", "layouts", layout, "removed", number)
                yield path, message.format(column=removed)


def _declared_kind(metadata: _Content, column: str) -> str | None:
    extra = (metadata.get("columns") or {}).get(column) or {}
    kind: str | None = extra.get("kind")
    return kind


def _column_names(root: _Content) -> Iterator[tuple[YamlPath, object]]:
    """Yield every column name outside the list of columns, with its YAML path."""
    metadata = root["metadata"]
    for name in metadata.get("columns") or {}:
        yield ("metadata", "columns", name), name
    for number, name in enumerate(metadata.get("natural_keys", ())):
        yield ("metadata", "natural_keys", number), name
    yield from _read_back_column_names(metadata.get("read_back", {}))
    twins = metadata.get("create", {}).get("twins", {})
    yield from _lookup_column_names(twins, ("metadata", "create", "twins"))
    body = metadata.get("control_totals", {})
    place = ("metadata", "control_totals")
    if "amount" in body:
        yield (*place, "amount"), body["amount"]
    for number, name in enumerate(body.get("by", ())):
        yield (*place, "by", number), name
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


def _is_model(name: str) -> bool:
    try:
        return issubclass(wire_model(name), WireModel)
    except (ImportError, AttributeError, ValueError, TypeError):
        return False
