"""A YAML document with the lines that its parts stand on."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import yaml

Place = Sequence[str | int]
"""The keys and indexes that lead to a part of a document."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast loader, where this PyYAML was built with it."""

_MOST_PARTS = 100_000
"""So many keys, values and lists a document may have, those in several places counted in each."""

_DEEPEST = 100
"""So many blocks and lists may stand in one another."""


IMPOSSIBLE_VALUE = "impossible value"
OVERGROWN = "overgrown"
"""What is told of a document by a ``YAMLError``: as its context, and as its problem."""

_TEXT_TAG = "tag:yaml.org,2002:str"
_MERGE_TAG = "tag:yaml.org,2002:merge"


class _Loader(_LOADER):  # type: ignore[misc]
    """Tells where a value stands that cannot be what it is written as, such as 2026-02-31."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(
                IMPOSSIBLE_VALUE, None, str(node.value), node.start_mark
            ) from error


class _DatelessLoader(_Loader):
    """Leaves dates as the text that they are written as."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, form) for tag, form in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in _LOADER.yaml_implicit_resolvers.items()
    }


class YamlText:
    """A YAML document as text; without ``dates`` those are the text that they are written as.

    Keys are texts, whatever YAML takes them for: ``2026``, ``no`` and ``null`` are names, too.

    Raises ``yaml.YAMLError`` when it is none, when aliases make it endless or far larger than its
    text, when its parts stand in one another too deeply, or when a value is not of the kind that
    it is said to be.
    """

    def __init__(self, text: str, *, dates: bool = True) -> None:
        loader = (_Loader if dates else _DatelessLoader)(text)
        try:
            self._root = loader.get_single_node()
            self.content: Any = None
            if self._root is not None:
                _refuse_endless(self._root)
                _name_keys(self._root)
                self.content = loader.construct_document(self._root)
        finally:
            loader.dispose()

    def line(self, place: Place) -> int:
        """Return the line, counted from 1, of a part or of the nearest one around it.

        A key's line is that of its name.
        """
        node, line = self._root, 1
        for step in place:
            found = _step(node, step)
            if found is None:
                break
            key, node = found
            line = (key or node).start_mark.line + 1
        return line

    def repeated_keys(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the name of every key that stands twice in its block."""
        for node in [] if self._root is None else _parts(self._root):
            if isinstance(node, yaml.MappingNode):
                seen = set()
                for key, _ in node.value:
                    if key.value in seen:
                        yield key.start_mark.line + 1, str(key.value)
                    seen.add(key.value)


def _parts(root: yaml.Node) -> Iterator[yaml.Node]:
    """Yield every block, list and value of a document that is not endless."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, yaml.MappingNode):
            waiting.extend(value for _, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)


def _refuse_endless(root: yaml.Node) -> None:
    waiting, parts = [(root, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        parts += 1
        if parts > _MOST_PARTS or depth > _DEEPEST:
            raise yaml.composer.ComposerError(None, None, OVERGROWN, node.start_mark)
        if isinstance(node, yaml.CollectionNode):
            for item in node.value:
                inner = item if isinstance(item, tuple) else [item]
                waiting.extend((part, depth + 1) for part in inner)


def _name_keys(root: yaml.Node) -> None:
    for node in _parts(root):
        if isinstance(node, yaml.MappingNode):
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE_TAG:
                    key.tag = _TEXT_TAG


def _step(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((k, v) for k, v in node.value if k.value == str(step)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None
