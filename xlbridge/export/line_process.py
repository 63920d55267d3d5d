"""A process that makes the lines of answers that are on disk, one after the other.

Usage: python -m xlbridge.export.line_process. Standard input brings a ``Recipe``, pickled, then
the folder of a part in each line; standard output tells how many records came, from time to time,
and in the end what the part came to, as lines of JSON. Of an answer that is not just records it
tells that it made nothing, and the process that asked reads it itself. It ends with its input.
"""

import json
import pickle
import sys
from pathlib import Path
from typing import Any

from xlbridge.api.listing_text import ListingText
from xlbridge.errors import XlbridgeError
from xlbridge.export.part import Part
from xlbridge.export.part_making import PartMaker, Recipe

_TELL_EVERY = 500
"""Records."""


def main() -> None:
    """Make parts until the input ends."""
    recipe: Recipe = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent
    maker = PartMaker(recipe)
    for folder in sys.stdin.buffer:
        part = Part(Path(json.loads(folder)), len(recipe.sheets) + 1)
        try:
            _tell(made=_made(part, recipe, maker))
        except (ValueError, TypeError, XlbridgeError, OSError):
            _tell(made=None)


def _made(part: Part, recipe: Recipe, maker: PartMaker) -> dict[str, Any] | None:
    """Make a part's lines of its answer; return what it came to, None for what is no listing."""
    text = ListingText(part.answer(), recipe.envelope, recipe.numbers)
    convert = recipe.shape.converter()
    with part:
        for row in text.records():
            maker.add(part, convert(row))
            if part.records % _TELL_EVERY == 0:
                _tell(records=_TELL_EVERY)
    if "data" in text.envelope or not text.has_list:
        return None
    part.widths = maker.widths
    return part.told() | {"envelope": text.envelope}


def _tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
