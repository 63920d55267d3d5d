"""Parser of the golden exchanges, which are written by hand from the spec.

A file is a list of cases. Each cites the spec, and has steps: a request and its complete response.
Values that the spec leaves to the server are written as tags with a condition and an example, so
that a file can check a server and can also stand in for one:

- ``!int 1``, ``!number 1.5``, ``!text abc``, ``!bool true``, ``!moment 2026-01-31T00:00:00``,
  ``!stamp`` (``YYYY-MM-DD HH:mm:ss``), ``!texts`` (a list of them): any value of the kind;
- a tag that ends with ``?`` allows null;
- ``!like {pattern, example}``: text that matches;
- ``!each X``: a nonempty list of X; ``!holding [X]``: a list that contains X;
- ``!many {least, most, of: X}``: a list of ``least`` to ``most`` X;
- the key ``...`` allows further fields in an object.

A case ``holds`` rules of ``rules.yaml`` by name, and its answers may have the ``variants`` of the
named sets in ``variants.yaml``. A request's ``workbook`` is uploaded under its
``filename``; its ``text`` is sent unchanged, with the media type ``type``.

``save`` stores values of the response by their path, for ``${name}`` in later steps of the case.
"""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
RULES = FOLDER / "rules.yaml"
VARIANTS = FOLDER / "variants.yaml"
MORE = "..."


@dataclass(frozen=True)
class Tagged:
    tag: str
    value: Any

    def mismatches(self, actual: Any, path: str) -> Iterator[str]:
        if self.tag.endswith("?") and actual is None:
            return
        match self.tag.rstrip("?"):
            case "each":
                yield from _list_mismatches(self.value, 1, sys.maxsize, actual, path)
            case "many":
                bounds = self.value["least"], self.value["most"]
                yield from _list_mismatches(self.value["of"], *bounds, actual, path)
            case "holding":
                for expected_item in self.value:
                    if not any(not list(mismatches(expected_item, item, "")) for item in actual):
                        yield f"{path}: nothing like {expected_item!r} in {actual!r}"
            case "like":
                if not isinstance(actual, str) or not re.search(self.value["pattern"], actual):
                    yield f"{path}: {actual!r} is not like {self.value['pattern']!r}"
            case _:
                if not _KINDS[self.tag.rstrip("?")](actual):
                    yield f"{path}: {actual!r} is not {self.tag}"


def _list_mismatches(item: Any, least: int, most: int, actual: Any, path: str) -> Iterator[str]:
    if not isinstance(actual, list) or not least <= len(actual) <= most:
        yield f"{path}: no list of {least} to {most}"
        return
    for index, found in enumerate(actual):
        yield from mismatches(item, found, f"{path}.{index}")


def _is_date(text: Any, form: str | None) -> bool:
    try:
        datetime.strptime(text, form) if form else datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return False
    return form is not None or "T" in text


_KINDS = {
    "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "text": lambda v: isinstance(v, str) and v != "",
    "texts": lambda v: isinstance(v, list) and all(isinstance(item, str) for item in v),
    "bool": lambda v: isinstance(v, bool),
    "moment": lambda v: _is_date(v, None),
    "stamp": lambda v: _is_date(v, "%Y-%m-%d %H:%M:%S"),
}


class _Loader(yaml.CSafeLoader):
    pass


# Dates stay text, as they are on the wire.
_Loader.yaml_implicit_resolvers = {
    key: [(tag, expression) for tag, expression in resolvers if not tag.endswith(":timestamp")]
    for key, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _tagged(loader: _Loader, tag: str, node: yaml.Node) -> Tagged:
    if isinstance(node, yaml.ScalarNode):
        return Tagged(tag, loader.construct_scalar(node))
    if isinstance(node, yaml.SequenceNode):
        return Tagged(tag, loader.construct_sequence(node, deep=True))
    return Tagged(tag, loader.construct_mapping(node, deep=True))


_Loader.add_multi_constructor("!", _tagged)


@dataclass(frozen=True)
class Step:
    request: dict[str, Any]
    response: dict[str, Any]
    save: dict[str, str] = field(default_factory=dict)
    until: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    name: str
    operation: str | None
    spec: str
    holds: tuple[str, ...]
    variants: tuple[str, ...]
    steps: tuple[Step, ...]
    file: str
    title: str


@dataclass(frozen=True, kw_only=True)
class VariantSet:
    """Variants of answers with these statuses to requests of these methods, for all operations or
    one."""

    says: str
    methods: list[str]
    answers: list[int]
    shapes: list[str]
    operation: str | None = None
    spellings: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)


@cache
def variant_sets() -> dict[str, VariantSet]:
    """Return the sets of variants by name."""
    document = yaml.safe_load(VARIANTS.read_text(encoding="utf-8"))
    return {name: VariantSet(**found) for name, found in document.items()}


@cache
def golden_cases() -> tuple[Case, ...]:
    """Return every case of every file."""
    cases = []
    for path in sorted({*FOLDER.glob("*.yaml")} - {RULES, VARIANTS}):
        for case in yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader):
            steps = tuple(Step(**step) for step in case["steps"])
            name = f"{path.stem}-{case['case'].replace(' ', '-')}"
            holds = tuple(case.get("holds", ()))
            variants = tuple(case["variants"])
            fields = (case.get("operation"), case["spec"], holds, variants, steps)
            cases.append(Case(name, *fields, path.name, case["case"]))
    return tuple(cases)


def mismatches(expected: Any, actual: Any, path: str = "$") -> Iterator[str]:
    """Yield the paths at which an actual value differs from the expected one."""
    if isinstance(expected, Tagged):
        yield from expected.mismatches(actual, path)
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for name in expected.keys() - actual.keys() - {MORE}:
            yield f"{path}.{name} is missing"
        if MORE not in expected:
            for name in actual.keys() - expected.keys():
                yield f"{path}.{name} is not in the spec"
        for name in expected.keys() & actual.keys():
            yield from mismatches(expected[name], actual[name], f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (expected_item, found) in enumerate(zip(expected, actual, strict=True)):
            yield from mismatches(expected_item, found, f"{path}.{index}")
    elif isinstance(expected, bool) != isinstance(actual, bool) or expected != actual:
        yield f"{path}: {actual!r} instead of {expected!r}"


def found_at(path: str, document: Any) -> Any:
    """Return the value at a dotted path."""
    for part in path.split("."):
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


def filled(value: Any, saved: dict[str, Any]) -> Any:
    """Return a value with ``${name}`` replaced by what earlier steps saved."""
    if isinstance(value, str):
        reference = re.fullmatch(r"\$\{(\w+)\}", value)
        if reference:
            return saved[reference[1]]
        return re.sub(r"\$\{(\w+)\}", lambda found: str(saved[found[1]]), value)
    if isinstance(value, dict):
        return {name: filled(item, saved) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, saved) for item in value]
    if isinstance(value, Tagged):
        return Tagged(value.tag, filled(value.value, saved))
    return value


_EXAMPLES: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "number": float,
    "bool": lambda value: value == "true",
    "like": lambda value: example(value["example"]),
    "each": lambda value: [example(value)],
    "many": lambda value: [example(value["of"])] * value["least"],
    "holding": lambda value: [example(item) for item in value],
    "texts": lambda value: [example(item) for item in value],
}


def example(value: Any) -> Any:
    """Return a response body with every tag replaced by its example."""
    if isinstance(value, Tagged):
        return _EXAMPLES.get(value.tag.rstrip("?"), example)(value.value)
    if isinstance(value, dict):
        return {name: example(item) for name, item in value.items() if name != MORE}
    if isinstance(value, list):
        return [example(item) for item in value]
    return value


def is_partial(value: Any) -> bool:
    """Return whether a body omits fields that a server would send."""
    if isinstance(value, Tagged):
        return is_partial(value.value)
    if isinstance(value, dict):
        return MORE in value or any(map(is_partial, value.values()))
    return isinstance(value, list) and any(map(is_partial, value))
