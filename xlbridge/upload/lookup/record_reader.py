"""Reader of single records: the present values of one record, by its code in the remote system."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from xlbridge.client import Client, Record
from xlbridge.errors import RemoteRejected
from xlbridge.resources import ReadBack, RecordChange, Resource, operation_named
from xlbridge.upload.lookup.bulk_lookup import look_up_rows
from xlbridge.upload.lookup.row_lookup import RowMatcher, RowValues
from xlbridge.upload.lookup.snapshot import CODE_SEPARATOR
from xlbridge.upload.record_writes import plain_json
from xlbridge.wire import Operation


@dataclass(frozen=True, slots=True)
class PresentRecord:
    """Record as it is now: its comparable values by column; its JSON where it was read whole."""

    values: Mapping[str, str | None]
    whole: Record | None

    def has(self, values: Mapping[str, str | None]) -> bool:
        """Tell whether the record has these comparable values."""
        return all(self.values.get(name) == value for name, value in values.items())

    @property
    def has_parts(self) -> bool:
        """True where the record has lists of its own, such as files or a split."""
        return any(isinstance(value, list) and value for value in (self.whole or {}).values())

    def json_of(self, columns: Mapping[str, object]) -> dict[str, Any]:
        """Return the JSON values of some columns."""
        source = self.values if self.whole is None else self.whole
        return {name: plain_json(source.get(name)) for name in columns}


class RecordReader:
    """Reader of the records of one resource, as its declared change reads them.

    Where the interface has no operation that reads one by its code, the declared listing has it
    whole, or else the keys of its row find it.
    """

    def __init__(
        self, client: Client, resource: Resource, declared: ReadBack, change: RecordChange
    ) -> None:
        self._client = client
        self._resource = resource
        self._codes = declared.codes
        self._numbers = declared.number_columns
        self._change = change
        self._matcher = RowMatcher(resource, declared)
        self._as_row = declared.as_row

    def read(self, code: str, row: RowValues) -> PresentRecord | None:
        """Return the record with that code, None where it is not there.

        ``row`` has the keys that find it. Raises what ``Client.records`` raises, but for a 404.
        """
        if self._change.read_name is None:
            return self._found_by_keys(code, row)
        operation = operation_named(self._change.read_name)
        if not operation.path_parameters:
            return self._found_in_listing(operation, code, row)
        path = dict(zip(operation.path_parameters, code.split(CODE_SEPARATOR), strict=True))
        try:
            records = list(self._client.records(operation, path=path, keep_unknown=True))
        except RemoteRejected as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return self._present(records[0]) if records else None

    def _present(self, record: Record) -> PresentRecord:
        there = self._as_row(record)
        values = {name: self._matcher.comparable(name, value) for name, value in there.items()}
        return PresentRecord(values, record)

    def _found_in_listing(
        self, operation: Operation, code: str, row: RowValues
    ) -> PresentRecord | None:
        """Look for the record by its code in a listing: among those like its row, then in all."""
        number = tuple(code.split(CODE_SEPARATOR))
        fields = {} if operation.query is None else operation.query.model_fields
        like = {name: row[name] for name in fields if row.get(name) is not None}
        for filters in (like, {}) if like else ({},):
            query = operation.query(**filters) if operation.query and filters else None
            for record in self._client.records(operation, query=query, keep_unknown=True):
                if tuple(str(record.get(name)) for name in self._codes) == number:
                    return self._present(record)
        return None

    def number(self, code: str) -> dict[str, str]:
        """Return the parts of a code by the names of the record's fields."""
        return dict(zip(self._codes, code.split(CODE_SEPARATOR), strict=True))

    def _found_by_keys(self, code: str, row: RowValues) -> PresentRecord | None:
        """Look for the record by its row's keys, then by its code in whole listings."""
        ways = [row] if not self._numbers else [row, {**row, **self.number(code)}]
        for wanted in ways:
            (one,), _ = look_up_rows(self._client, self._resource, [wanted], most=None)
            for record in () if one is None else one.found:
                if record.code == code:
                    return PresentRecord(record.values, None)
        return None
