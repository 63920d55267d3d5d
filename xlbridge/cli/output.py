"""Where things are printed: results on stdout, everything else on stderr."""

import json
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
    """Print the result as one JSON document."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))
