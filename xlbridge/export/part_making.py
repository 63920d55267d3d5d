"""The records of an answer into a part: what has to be known for that, as plain data, and the way.

Nothing here needs the models of the interface, so that a process that does nothing else is there
at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xlbridge.api.json_text import ReadNumber
from xlbridge.api.record_shape import Record, RecordShape
from xlbridge.api.splitting import UPDATED, update_time
from xlbridge.export.flatten import Flattener, Rearrange
from xlbridge.export.lines import LineForm
from xlbridge.export.part import Part
from xlbridge.export.sheet import Sheet
from xlbridge.export.totals import Totals
from xlbridge.export.values import Digits, MarkedDigits


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a listing's answers become lines. It can be sent to another process.

    ``envelope`` are the accepted spellings of an envelope's names; ``is_dated`` says that all
    update times are wanted.
    """

    shape: RecordShape
    envelope: Mapping[str, str]
    key: Sequence[str]
    sheets: Sequence[Sheet] = ()
    forms: Sequence[LineForm] = ()
    rearrange: Rearrange | None = None
    totals: Totals | None = None
    is_dated: bool = False

    @property
    def numbers(self) -> ReadNumber:
        """What a number is read as."""
        return MarkedDigits if self.shape.keep_unknown else Digits


class PartMaker:
    """Adds records to parts by a recipe, one at a time."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._flattener = Flattener(recipe.sheets, recipe.forms, recipe.rearrange, recipe.totals)

    @property
    def widths(self) -> list[list[int]]:
        """How long the longest text of each column has been, sheet by sheet."""
        return self._flattener.widths

    def add(self, part: Part, record: Record) -> None:
        """Add a record. Raises what ``Flattener.lines`` raises."""
        moment = record.get(UPDATED)
        if self._recipe.is_dated:
            updated = update_time(record)
            if updated is None:
                moment = None
            else:
                part.updated.append(updated)
        if isinstance(moment, str):
            part.newest = max(part.newest, moment)
        part.add(list(map(record.get, self._recipe.key)), self._flattener.lines(record))
