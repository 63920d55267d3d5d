"""Whole listings of the remote system, each fetched once and kept.

Source: the spec, Limits: an answer of the client listing is cut at 500 records, and does not say
so.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from xlbridge.api.client import Client
from xlbridge.api.records import Record
from xlbridge.wire.operation import Operation

_MINUTE = timedelta(minutes=1)
_BEGINNING = datetime(1990, 1, 1)


@dataclass(frozen=True, slots=True)
class Listed:
    """The records of a listing; ``whole`` says that there are no others."""

    records: list[Record] = field(default_factory=list)
    whole: bool = True


class Listings:
    """The listings of one system that were asked for."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._listed: dict[str, Listed] = {}

    def all(self, operation: Operation, cap: int | None) -> Listed:
        """Return all records of a listing; one that is cut at ``cap`` is fetched by its windows.

        Raises what ``Client.records`` raises.
        """
        if operation.name not in self._listed:
            records = list(self._client.records(operation))
            if cap is None or len(records) < cap:
                self._listed[operation.name] = Listed(records)
            else:
                self._listed[operation.name] = self._in_windows(operation, cap)
        return self._listed[operation.name]

    def _in_windows(self, operation: Operation, cap: int) -> Listed:
        end = (datetime.now() + timedelta(days=1)).replace(second=0, microsecond=0)
        parts = list(self._windows(operation, cap, _BEGINNING, end))
        return Listed(
            [record for part in parts for record in part.records],
            all(part.whole for part in parts),
        )

    def _windows(
        self, operation: Operation, cap: int, start: datetime, end: datetime
    ) -> Iterator[Listed]:
        """Halve a span of last-update times until no answer is full; a full minute stays cut."""
        query: Any = operation.query
        records = list(
            self._client.records(operation, query=query(dataInferior=start, dataSuperior=end))
        )
        if len(records) < cap or end <= start:
            yield Listed(records, len(records) < cap)
            return
        middle = (start + (end - start) / 2).replace(second=0, microsecond=0)
        yield from self._windows(operation, cap, start, middle)
        yield from self._windows(operation, cap, middle + _MINUTE, end)
