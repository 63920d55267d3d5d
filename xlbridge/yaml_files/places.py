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


class _DatelessLoader(_LOADER):  # type: ignore[misc]
    """Leaves dates as the text that they are written as."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, form) for tag, form in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in _LOADER.yaml_implicit_resolvers.items()
    }


class YamlText:
    """A YAML document as text; without ``dates`` those are the text that they are written as.

    Raises ``yaml.YAMLError`` when it is none, when aliases make it endless or far larger than its
    text, or when its parts stand in one another too deeply; ``ValueError`` when a value is not of
    the kind that it is said to be.
    """

    def __init__(self, text: str, *, dates: bool = True) -> None:
        loader = (_LOADER if dates else _DatelessLoader)(text)
        try:
            self._root = loader.get_single_node()
            self.content: Any = None
            if self._root is not None:
                _refuse_endless(self._root)
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
        waiting = [] if self._root is None else [self._root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, yaml.MappingNode):
                seen = set()
                for key, value in node.value:
                    if key.value in seen:
                        yield key.start_mark.line + 1, str(key.value)
                    seen.add(key.value)
                    waiting.append(value)
            elif isinstance(node, yaml.SequenceNode):
                waiting.extend(node.value)


def _refuse_endless(root: yaml.Node) -> None:
    waiting, parts = [(root, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        parts += 1
        if parts > _MOST_PARTS or depth > _DEEPEST:
            problem = "it is too deep, too large, or its aliases make it endless"
            raise yaml.composer.ComposerError(None, None, problem, node.start_mark)
        if isinstance(node, yaml.CollectionNode):
            for item in node.value:
                inner = item if isinstance(item, tuple) else [item]
                waiting.extend((part, depth + 1) for part in inner)


def _step(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((k, v) for k, v in node.value if k.value == str(step)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None
