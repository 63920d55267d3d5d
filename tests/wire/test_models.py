"""Response models: all fields of the spec, none required."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import pytest
import yaml
from pydantic import TypeAdapter

from xlbridge.wire import OPERATIONS, Operation, WireModel, wire_model
from xlbridge.wire.purchasing import RequisitionQuery

TYPES = {
    "int": int,
    "string": str,
    "number": Decimal,
    "datetime": datetime,
    "boolean": bool,
    "uuid": UUID,
    "list": list,
}
EXAMPLES: dict[Any, Any] = {
    int: 7,
    str: "J",
    Decimal: 1.5,
    datetime: "2026-01-31T10:30:00",
    bool: True,
    UUID: "7f1f9a0e-55d0-4f4c-8a0e-2c9d3a1b4c5d",
    list: [],
    dict: {},
}


@dataclass(frozen=True)
class SpecModel:
    """Fields of one model in the spec."""

    model: type[WireModel]
    key: tuple[str, ...]
    fields: dict[str, Any]


def read_spec_models() -> Iterator[SpecModel]:
    entries = yaml.safe_load((Path(__file__).parent / "spec_fields.yaml").read_text("utf-8"))
    for entry in entries:
        model = wire_model(entry["model"])
        fields = {
            field: kind for word, kind in TYPES.items() for field in entry.get(word, "").split()
        }
        yield SpecModel(model, tuple(entry.get("key", "").split()), fields)


SPEC_MODELS = list(read_spec_models())
each_model = pytest.mark.parametrize("spec", SPEC_MODELS, ids=lambda spec: spec.model.__name__)


def models_in(annotation: Any) -> Iterator[type[WireModel]]:
    if isinstance(annotation, type) and issubclass(annotation, WireModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_in(field.annotation)
    for part in get_args(annotation):
        yield from models_in(part)


def leaf_types(annotation: Any) -> set[Any]:
    parts = {part for part in get_args(annotation) if type(part).__hash__}
    return {annotation}.union(*map(leaf_types, parts))


def example(model: type[WireModel], name: str) -> Any:
    """Return a valid JSON value of a field."""
    adapter = TypeAdapter(Any) if name not in model.model_fields else _adapter(model, name)
    for value in (*EXAMPLES.values(), "Pendente", {"numeroPedido": 1}, {"seq": 1}):
        try:
            adapter.validate_python(value)
        except ValueError:
            continue
        return value
    raise AssertionError(name)


def _adapter(model: type[WireModel], name: str) -> TypeAdapter[Any]:
    return TypeAdapter(model.model_fields[name].annotation)


def record(spec: SpecModel) -> dict[str, Any]:
    """Return the smallest valid record."""
    return {name: example(spec.model, name) for name in spec.key} | REQUIRED_VALUES.get(
        spec.model.__name__, {}
    )


REQUIRED_VALUES = {"PurchaseOrderAnswer": {"payload": {"numeroPedido": 1}}}
"""The response to a purchase order has notifications or a payload."""


def test_every_response_model_is_listed() -> None:
    read = {model for operation in OPERATIONS.values() for model in models_in(operation.data)}
    assert read == {spec.model for spec in SPEC_MODELS}


def test_no_two_models_declare_the_same_fields() -> None:
    models = {model for one in OPERATIONS.values() for model in models_in(one.data)}
    models |= {base for model in models for base in model.__mro__ if base is not WireModel}
    by_fields: defaultdict[str, set[str]] = defaultdict(set)
    for model in models:
        fields = getattr(model, "model_fields", {})
        if len(fields) > 1:
            by_fields[repr(sorted(fields.items()))].add(f"{model.__module__}.{model.__name__}")
    assert len(by_fields) > 50
    assert [names for names in by_fields.values() if len(names) > 1] == []


@each_model
def test_only_key_fields_are_required(spec: SpecModel) -> None:
    required = {n for n, field in spec.model.model_fields.items() if field.is_required()}
    assert required == set(spec.key)
    spec.model.model_validate(record(spec))


@each_model
def test_every_other_field_may_be_null(spec: SpecModel) -> None:
    nulls = dict.fromkeys(spec.model.model_fields) | record(spec)
    assert spec.model.model_validate(nulls) == spec.model.model_validate(record(spec))


@each_model
def test_the_fields_have_the_types_of_the_spec(spec: SpecModel) -> None:
    fields = spec.model.model_fields
    assert set(spec.fields) <= set(fields)
    for name, kind in spec.fields.items():
        annotation = fields[name].annotation
        origins = {getattr(leaf, "__origin__", leaf) for leaf in leaf_types(annotation)}
        literal = {type(leaf) for leaf in leaf_types(annotation) if isinstance(leaf, str)}
        assert kind in origins | literal, name
        _adapter(spec.model, name).validate_python(EXAMPLES[kind])


@each_model
def test_both_spellings_are_read_and_unknown_fields_ignored(spec: SpecModel) -> None:
    values = {name: example(spec.model, name) for name in spec.model.model_fields} | record(spec)
    other = {name[0].swapcase() + name[1:]: value for name, value in values.items()}
    assert spec.model.model_validate(other) == spec.model.model_validate(values)
    assert spec.model.model_validate(values | {"novidade": [1]}) == spec.model.model_validate(
        values
    )


@pytest.mark.parametrize(
    "operation",
    [operation for operation in OPERATIONS.values() if operation.body],
    ids=lambda operation: operation.name,
)
def test_request_models_have_required_fields(operation: Operation) -> None:
    """Only response models are lenient."""
    body = operation.body
    assert body is not None
    assert any(field.is_required() for field in body.model_fields.values())


@pytest.mark.parametrize(
    "operation",
    [operation for operation in OPERATIONS.values() if operation.body],
    ids=lambda operation: operation.name,
)
def test_request_fields_are_spelled_as_in_the_samples_of_the_spec(operation: Operation) -> None:
    """Payload samples are camelCase; release notes write the same names in PascalCase."""
    for model in models_in(operation.body):
        for name, field in model.model_fields.items():
            assert field.serialization_alias == name[0].lower() + name[1:]


def test_query_parameters_are_sent_as_the_spec_spells_them() -> None:
    query = RequisitionQuery(CodigoDaFilial=1, codigosCentroCustos=["01"])
    assert query.model_dump(by_alias=True) == {"CodigoDaFilial": 1, "CodigosCentroCustos": ["01"]}
