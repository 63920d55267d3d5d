"""A YAML document with the lines that its parts stand on."""

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

Place = Sequence[str | int]
"""The keys and indexes that lead to a part of a document."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast loader, where this PyYAML was built with it."""

_MOST_PARTS = 100_000
"""So many keys, values and lists a document may have, those in several places counted in each."""


class YamlText:
    """A YAML document as text.

    Raises ``yaml.YAMLError`` when it is none, or when aliases make it endless or far larger than
    its text.
    """

    def __init__(self, text: str) -> None:
        loader = _LOADER(text)
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
    waiting, parts = [root], 0
    while waiting:
        node = waiting.pop()
        parts += 1
        if parts > _MOST_PARTS:
            problem = "its aliases make it endless, or too large"
            raise yaml.composer.ComposerError(None, None, problem, node.start_mark)
        if isinstance(node, yaml.CollectionNode):
            for item in node.value:
                waiting.extend(item if isinstance(item, tuple) else [item])


def _step(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((k, v) for k, v in node.value if k.value == str(step)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None
