"""What an export came to, for people: what was asked for, counts, control totals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from xlbridge.export.totals import TotalTable
from xlbridge.i18n import Text


@dataclass(frozen=True, slots=True)
class Summary:
    """What a cover says. ``filters`` are names and values as the user gave them."""

    title: Text
    filters: Sequence[tuple[str, str]]
    at: datetime
    records: int
    sheets: Mapping[str, int]
    complete: bool
    remarks: Sequence[Text] = ()
    amount: str = ""
    totals: Sequence[TotalTable] = ()
