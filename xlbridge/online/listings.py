"""Whole listings of the remote system, each fetched once and kept.

Source: the spec, Limits: an answer of the client listing is cut at 500 records, and does not say
so.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from xlbridge.api.client import Client
from xlbridge.api.record_shape import Record
from xlbridge.export.part_making import UPDATED
from xlbridge.export.requests import EVERYTHING
from xlbridge.export.splitting import Splitter
from xlbridge.wire.operation import Operation


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
            if cap is None:
                listed = Listed(list(self._client.records(operation)))
            else:
                listed = self._in_windows(operation, cap)
            self._listed[operation.name] = listed
        return self._listed[operation.name]

    def _in_windows(self, operation: Operation, cap: int) -> Listed:
        query: Any = operation.query
        splitter = Splitter(EVERYTHING, cap, datetime.now())
        kept: list[Record] = []
        whole = True
        while (window := splitter.next) is not None:
            asked = query(dataInferior=window.start, dataSuperior=window.end)
            records = list(self._client.records(operation, query=asked))
            if splitter.answered(_update_times(records), len(records)):
                kept += records
                whole = whole and len(records) < cap
        return Listed(kept, whole)


def _update_times(records: list[Record]) -> list[datetime]:
    moments = (record.get(UPDATED) for record in records)
    return [datetime.fromisoformat(m).replace(tzinfo=None) for m in moments if isinstance(m, str)]
