"""The plain type behind a wire model's annotation."""

from types import UnionType
from typing import Any, Union, get_args, get_origin


def plain_type(annotation: Any) -> Any:
    """Return the annotation without ``| None`` and without ``Annotated``'s extras."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (part for part in get_args(annotation) if part is not type(None))
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
