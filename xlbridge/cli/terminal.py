"""Lines of a report for a person at a terminal: as wide as it is, and coloured."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import TextIO

import click

_NARROWEST = 40
_COLOURS: Mapping[str, str] = {
    "✗": "red",
    "•": "red",
    "◦": "yellow",
    "✓": "green",
    "✎": "cyan",
    "→": "cyan",
}
"""The colours of the marks that lines begin with."""

_MARK = re.compile(rf"( *)([{''.join(_COLOURS)}])(?= )")
_CODE = re.compile(r"\[[a-z-]+\](?: ×[0-9]+)?$")


def for_stream(lines: Iterable[str], stream: TextIO) -> Iterator[str]:
    """Yield lines as a stream should have them: unchanged unless it is a terminal.

    Colours are left out where ``NO_COLOR`` is set, as https://no-color.org asks.
    """
    if not stream.isatty():
        yield from lines
        return
    width = max(_NARROWEST, shutil.get_terminal_size().columns)
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    for line in lines:
        wrapped = _wrapped(line, width)
        yield wrapped if plain else _coloured(wrapped)


def _wrapped(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    bare = line.lstrip(" ")
    indent = " " * (len(line) - len(bare))
    return "\n".join(
        wrap(
            bare,
            width,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            expand_tabs=False,
            replace_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _coloured(text: str) -> str:
    text = _CODE.sub(lambda code: click.style(code[0], dim=True), text)
    return _MARK.sub(lambda mark: mark[1] + click.style(mark[2], fg=_COLOURS[mark[2]]), text, 1)
