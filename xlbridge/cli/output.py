"""Where things are printed: results on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from xlbridge.errors import XlbridgeError
from xlbridge.i18n import Text


class StdoutFailed(OSError):
    """The result cannot be written: the disk is full, the device failed."""


def remark(text: Text | str) -> None:
    """Tell the user something that is not the result."""
    with remarking():
        click.echo(str(text), err=True)


@contextmanager
def remarking() -> Iterator[None]:
    """Let what is told on stderr be lost where it cannot be written: what is done is not.

    Whoever reads it and goes away ends the command all the same.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        return


def complain(error: XlbridgeError) -> None:
    """Tell the user of an error, and what to do about it."""
    remark(Text(pt="Erro: {e}", en="Error: {e}").format(e=error.message))
    if error.hint:
        remark(error.hint)


def result(text: Text | str) -> None:
    """Print (part of) the result. Raises ``StdoutFailed``, ``BrokenPipeError``."""
    _print(str(text))


def in_words(value: object) -> object:
    """Return a value as a person reads it: what is true or not in words, nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return Text(pt="sim", en="yes") if value else Text(pt="não", en="no")
    return value


def result_json(document: Any) -> None:
    """Print the result as one JSON document, indented where a person reads it.

    Raises ``StdoutFailed``, ``BrokenPipeError``.
    """
    indent = 2 if sys.stdout.isatty() else None
    _print(json.dumps(document, ensure_ascii=False, indent=indent, default=str))


def result_pieces(pieces: Iterable[str]) -> None:
    """Print a long result piece by piece. Raises ``StdoutFailed``, ``BrokenPipeError``."""
    for piece in pieces:
        _print(piece, end="")
    _print("")


def _print(text: str, end: str = "\n") -> None:
    try:
        click.echo(text + end, nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StdoutFailed(error.errno, error.strerror) from error
