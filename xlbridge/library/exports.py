"""Export a listing into DataFrames."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from xlbridge.client import Client
from xlbridge.export import (
    FILTERS,
    Filter,
    Filters,
    FrameOutput,
    Layout,
    OnProgress,
    ValueKind,
    export_listing,
    find_listing,
    is_repeatable,
    manifest_of,
    parse_filters,
)

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


def export_frames(
    client: Client,
    listing: str,
    given: Mapping[Filter, object],
    layout: Layout,
    *,
    at_once: int,
    on_progress: OnProgress,
) -> ExportedFrames:
    """Export a listing into DataFrames; ``given`` are the filters as a caller writes them.

    Raises what ``export_listing`` and ``find_listing`` raise.
    """
    wanted, output = find_listing(listing), FrameOutput()
    with TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as folder:
        exported = export_listing(
            client,
            wanted,
            _filters(given),
            Path(folder) / wanted.name,
            output.open,
            layout=layout,
            on_progress=on_progress,
            at_once=at_once,
        )
    return ExportedFrames(
        listing=wanted.name,
        records=exported.records,
        complete=exported.complete,
        frames=output.frames,
        manifest=manifest_of(exported),
    )


def _filters(given: Mapping[Filter, object]) -> Filters:
    return parse_filters({name: _filter_text(name, value) for name, value in given.items()})


def _filter_text(name: Filter, value: object) -> object:
    """Return a filter's value as users write it, which is how it is read."""
    if value is None or FILTERS[name].kind is ValueKind.FLAG:
        return value
    if is_repeatable(name):
        values = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        return tuple(map(str, values))
    return str(value)
