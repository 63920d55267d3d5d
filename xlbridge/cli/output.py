"""Where things are printed: results on stdout, everything else on stderr."""

import json
import sys
from typing import Any

import click

from xlbridge.i18n import Text


def remark(text: Text | str) -> None:
    """Tell the user something that is not the result."""
    click.echo(str(text), err=True)


def result(text: Text | str) -> None:
    """Print (part of) the result."""
    click.echo(str(text))


def result_json(document: Any) -> None:
    """Print the result as one JSON document, indented where a person reads it."""
    indent = 2 if sys.stdout.isatty() else None
    click.echo(json.dumps(document, ensure_ascii=False, indent=indent, default=str))
