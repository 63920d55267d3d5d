"""The parts that the form of a YAML file is made of, as JSON Schemas."""

from typing import Any

Schema = dict[str, Any]


def block(properties: Schema, /, *, needed: tuple[str, ...] = ()) -> Schema:
    """Return the form of a block of just these keys."""
    return {
        "type": "object",
        "required": list(needed),
        "properties": properties,
        "additionalProperties": False,
    }


def told(schema: Schema, description: str) -> Schema:
    """Return a form with what editors tell of it."""
    return {**schema, "description": description}
