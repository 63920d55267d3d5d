"""Export a listing into DataFrames."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from xlbridge.client import Client
from xlbridge.export import (
    FILTERS,
    ExportRequest,
    Filter,
    Filters,
    OnProgress,
    ValueKind,
    export_frames,
    parse_filters,
)
from xlbridge.resources import Catalogue

Moment = str | dt.date
"""A date or a datetime, or the text of one (``2026-10-01``, ``01/10/2026 18:30``)."""

Code = int | str
"""The number of a record, or the text of one."""

Codes = Code | Iterable[Code]
"""One code or several; a text may be a range of them (``1-500``)."""


@dataclass(frozen=True, slots=True)
class ExportedFrames:
    """A listing as DataFrames.

    ``frames`` has the records under the listing's own name, and a DataFrame for each list within
    a record (``parcelas``, ``produtos``), joined by the key columns in front. Money is ``Decimal``
    (dtype ``object``), dates are ``datetime64[us]`` without a time zone, whole numbers ``Int64``,
    other numbers ``Float64``, yes or no ``boolean``, codes and other text ``str``.

    ``manifest`` is what ``xlbridge export --manifest`` writes: counts, windows, holes, what is
    missing. ``complete`` tells whether nothing can be missing.
    """

    listing: str
    records: int
    complete: bool
    frames: dict[str, pd.DataFrame] = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)


def export_request(
    client: Client,
    request: ExportRequest,
    load_catalogue: Callable[[], Catalogue],
    on_progress: OnProgress,
) -> ExportedFrames:
    """Export a listing into DataFrames. Raises what ``export_frames`` raises."""
    exported, frames = export_frames(client, request, load_catalogue, on_progress=on_progress)
    return ExportedFrames(
        listing=exported.listing,
        records=exported.records,
        complete=exported.complete,
        frames=frames,
        manifest=exported.manifest(),
    )


def read_filters(given: Mapping[Filter, object]) -> Filters:
    """Return filters as a caller writes them. Raises ``InvalidFilter`` for what is no value."""
    return parse_filters({name: _filter_text(name, value) for name, value in given.items()})


def _filter_text(name: Filter, value: object) -> object:
    """Return a filter's value as users write it, which is how it is read."""
    if value is None or FILTERS[name].kind is ValueKind.FLAG:
        return value
    if FILTERS[name].is_repeatable:
        values = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        return tuple(map(str, values))
    return str(value)
