"""Helper process that makes lines of answers on disk, one answer after the other.

Usage: python -m xlbridge.export.line_process. Standard input brings a ``LineSpec``, pickled,
then the folder of a part in each line; standard output reports the number of records from time
to time and finally what the part holds, as lines of JSON. An answer that is not just records is
reported as not made, and the parent reads it itself. The process ends with its input.

Light on purpose: no model of the interface, no pydantic, no httpx, no SQLite.
"""

import json
import pickle
import sys
from pathlib import Path
from typing import Any

from xlbridge.client.listings import ListingReader
from xlbridge.errors import XlbridgeError
from xlbridge.export.parts import LineSpec, Part, PartWriter

_REPORT_EVERY = 500
"""Records."""


def main() -> None:
    """Make parts until the input ends."""
    recipe: LineSpec = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent
    maker = PartWriter(recipe)
    for folder in sys.stdin.buffer:
        part = Part(Path(json.loads(folder)), recipe.tables)
        try:
            _report(made=_make_part(part, recipe, maker))
        except (ValueError, TypeError, XlbridgeError, OSError):
            _report(made=None)


def _make_part(part: Part, recipe: LineSpec, maker: PartWriter) -> dict[str, Any] | None:
    """Make a part's lines of its answer; return what it came to, None for what is no listing."""
    text = ListingReader(part.answer(), recipe.envelope, recipe.numbers)
    convert = recipe.shape.converter()
    with part:
        for row in text.records():
            if maker.add(part, convert(row)) and part.records % _REPORT_EVERY == 0:
                _report(records=_REPORT_EVERY)
    if "data" in text.envelope or not text.has_list:
        return None
    maker.describe(part)
    return part.told() | {"envelope": text.envelope}


def _report(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
