"""Changes of single records: each read, announced, sent once, and proven by reading back.

See the upload protocol, Updates and Undo.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from xlbridge.client import (
    Client,
    Declined,
    Doubtful,
    Executed,
    Outcome,
    Record,
    Rejected,
    UploadFile,
)
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.resources.remote import ReadBack, RecordChange, operation_named
from xlbridge.upload.executor import (
    Announce,
    PreparedWrite,
    RecordChannel,
    SharedPause,
    result_of,
    result_of_absence,
    send_once,
    with_reason,
)
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.bulk_lookup import read_snapshot
from xlbridge.upload.lookup.comparison import RowMatcher, differing_lists
from xlbridge.upload.lookup.snapshot import CODE_SEPARATOR, RowSnapshot, RowValues
from xlbridge.upload.planning.planned_row import PlannedRow, RowReason
from xlbridge.upload.row_changes import (
    RecordTask,
    RecordWrite,
    Results,
    Values,
    WriteResult,
    WriteState,
    plain_json,
)
from xlbridge.wire import Operation, WireModel, record_model
from xlbridge.wire.imports import ImportQuery

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext

_CHANGED = Text(
    pt="o registro mudou no sistema depois do plano (antes: {before}; agora: {now}); ficou como "
    "está",
    en="the record has changed in the system since the plan (then: {before}; now: {now}); it was "
    "left as it is",
)
_GONE = Text(pt="o registro não está mais no sistema", en="the record is no longer in the system")
_HAS_PARTS = Text(
    pt="o registro tem arquivos ou rateio que a planilha não tem; não foi removido",
    en="the record has files or a split that the sheet does not have; it was not removed",
)
_STILL_THERE = Text(
    pt="o sistema disse que removeu o registro, que continua lá",
    en="the system said that it has removed the record, which is still there",
)
_LOST = Text(
    pt="não foi alterado: o sistema não respondeu a {n} tentativas, e o registro está como antes",
    en="was not changed: the system did not answer {n} attempts, and the record is as before",
)
_NEITHER = Text(
    pt="a resposta se perdeu, e o registro não está nem como antes nem como foi enviado",
    en="the answer was lost, and the record is neither as before nor as sent",
)


@dataclass(frozen=True, slots=True)
class PresentRecord:
    """Record as it is now: its comparable values by column, and its JSON if it was read whole.

    ``blank`` has the values that an empty cell means.
    """

    values: Mapping[str, str | None]
    whole: Record | None
    blank: Values

    def has(self, values: Values) -> bool:
        """Return whether the record has these comparable values; None equals the blank value."""

        def filled(name: str, value: str | None) -> str | None:
            return self.blank.get(name) if value is None else value

        return all(
            filled(name, self.values.get(name)) == filled(name, value)
            for name, value in values.items()
        )

    def has_other_lists(self, resource: Resource, row: RowValues) -> bool:
        """Return whether the record has lists that its row lacks, such as files, or other items."""
        children = {child.sheet: child for child in resource.children}
        return any(
            name not in children or differing_lists(children[name], row.get(name) or (), value)
            for name, value in (self.whole or {}).items()
            if isinstance(value, list) and value
        )

    def json_of(self, columns: Mapping[str, object]) -> dict[str, Any]:
        """Return the JSON values of the given columns."""
        source = self.values if self.whole is None else self.whole
        return {name: plain_json(source.get(name)) for name in columns}


class RecordReader:
    """Reader of the records of one resource, as declared for its changes.

    A record is read by its code, found in the declared listing, or else found by its row's keys.
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
        """Return the record with the given code, None if it does not exist.

        ``row`` has the keys that find it. Raises what ``Client.records`` raises, except for a 404.
        """
        if self._change.read_name is None:
            # By the row's keys, then by the record's number.
            rows = [row] if not self._numbers else [row, {**row, **self.number(code)}]
            for wanted in rows:
                (one,) = read_snapshot(self._client, self._resource, [wanted])
                for record in () if one is None else one.found:
                    if record.code == code:
                        return PresentRecord(record.values, None, self._matcher.blank)
            return None
        operation = operation_named(self._change.read_name)
        if not operation.path_parameters:
            return self._find_in_listing(operation, code, row)
        path = dict(zip(operation.path_parameters, code.split(CODE_SEPARATOR), strict=True))
        try:
            records = list(self._client.records(operation, path=path, keep_unknown=True))
        except RemoteRejected as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return self._present(records[0]) if records else None

    def _present(self, record: Record) -> PresentRecord:
        row = self._as_row(record)
        values = {name: self._matcher.comparable(name, value) for name, value in row.items()}
        return PresentRecord(values, record, self._matcher.blank)

    def _find_in_listing(
        self, operation: Operation, code: str, row: RowValues
    ) -> PresentRecord | None:
        """Find the record by its code in a listing, first filtered by its row, then unfiltered."""
        number = tuple(code.split(CODE_SEPARATOR))
        fields = {} if operation.query is None else operation.query.model_fields
        row_filters = {name: row[name] for name in fields if row.get(name) is not None}
        for filters in (row_filters, {}) if row_filters else ({},):
            query = operation.query(**filters) if operation.query and filters else None
            for record in self._client.records(operation, query=query, keep_unknown=True):
                if tuple(str(record.get(name)) for name in self._codes) == number:
                    return self._present(record)
        return None

    def number(self, code: str) -> dict[str, str]:
        """Return the parts of a code by the names of the record's fields."""
        return dict(zip(self._codes, code.split(CODE_SEPARATOR), strict=True))


def change_of_row(planned: PlannedRow, values: RowValues) -> RecordTask:
    """Return the change of a row's record, with blank values for empty cells."""
    written = planned.yours
    for name in written:
        value = values.get(name)
        if value is not None:
            written[name] = value.isoformat() if isinstance(value, datetime) else value
    return RecordTask(planned.record or "", planned.theirs, planned.yours, written)


def removal_of_row(planned: PlannedRow, now: RowSnapshot | None) -> RecordTask:
    """Return the removal of a row's record, which must be as it was read for the plan."""
    found = () if now is None else now.found
    expected = next(record.values for record in found if record.code == planned.record)
    return RecordTask(planned.record or "", expected, None, {})


class RecordChanger(RecordChannel):
    """Changes and removals of the records of one job."""

    def __init__(
        self,
        context: "RunContext",
        job: Job,
        rows: Sequence[RowValues],
        pause: SharedPause,
        read_back: ReadBack,
        change: RecordChange,
    ) -> None:
        self._context = context
        self._job = job
        self._resource: Resource = context.resource(job)
        self._change = change
        self._reader = RecordReader(context.client, self._resource, read_back, change)
        self._rows = rows
        self._pause = pause
        self._patience = context.patience
        self._own = context.own_writes(job.spec.scope, self._patience)

    def tokens(self, write: RecordWrite) -> frozenset[str]:
        """Return the code of the record, which concurrent writes must not share."""
        return frozenset({write.task.record})

    def prepare(self, write: RecordWrite) -> PreparedWrite:
        """Return the change of a record, which is read first."""
        return PreparedWrite(partial(self._write, write))

    def _write(self, write: RecordWrite, announce: Announce) -> WriteResult:
        """Change a record, unless it has changed since the plan or is already as wanted.

        A reading that does not show yet what this home has just written of it is repeated: the
        request contains the whole record. Raises ``ApiError`` if it cannot be read, ``Withdrawn``
        if the run is ending.
        """
        present = self._patience.read_until(
            lambda: self._read(write), lambda read: self._job_not_shown(write, read) is None
        )
        late = self._job_not_shown(write, present)
        if late:
            return with_reason(WriteState.CHANGED, RowReason.SHOWN_LATE.text.format(job=late))
        if _is_as_wanted(write.task, present):
            return WriteResult(WriteState.APPLIED, {"already": True})
        if present is None:
            return with_reason(WriteState.CHANGED, _GONE)
        for name, before in write.task.expected.items():
            if not present.has({name: before}):
                now = present.values.get(name)
                changed = _CHANGED.format(before=before or "–", now=now or "–")
                return with_reason(WriteState.CHANGED, changed, name)
        row = self._rows[write.position]
        if write.task.wanted is None and present.has_other_lists(self._resource, row):
            return with_reason(WriteState.CHANGED, _HAS_PARTS)
        replaced = present.json_of(write.task.wanted or write.task.expected)

        def read_back(declined: Declined) -> Outcome | None:
            now = self._read(write)
            if _is_as_wanted(write.task, now):
                return Executed(None)
            return None if _is_as_expected(write.task, now) else Doubtful(declined.reason)

        outcome = send_once(
            self._context,
            send=lambda: self._request(write, present),
            announce=lambda: announce({"before": replaced}),
            read_back=read_back,
            pause=self._pause,
        )
        if write.task.wanted is None:
            return self._result_of_removal(write, outcome)
        return result_of(outcome)

    def _job_not_shown(self, write: RecordWrite, present: PresentRecord | None) -> str | None:
        """Return a job of this home whose write a reading does not show yet; empty if the record is
        not there, and another job has just written some."""
        if present is None:
            return "" if self._own.jobs - {self._job.id} else None
        return self._own.job_not_shown(write.task.record, present.values, present.blank)

    def _result_of_removal(self, write: RecordWrite, outcome: Outcome) -> WriteResult:
        """Return the result of a removal, which only the record's absence proves.

        The interface's description does not show its path: a system may have none there.
        """
        refused = isinstance(outcome, Rejected) and outcome.status == HTTPStatus.NOT_FOUND
        if not (refused or isinstance(outcome, Executed)):
            return result_of(outcome)
        present = self._patience.read_until(lambda: self._read(write), lambda read: read is None)
        if present is None:
            return WriteResult(WriteState.APPLIED, {"already": True} if refused else {})
        if refused:
            return result_of(outcome)
        return with_reason(WriteState.DOUBTFUL, _STILL_THERE, refusal=True)

    def settle(self, writes: Sequence[RecordWrite], *, final: bool) -> Results:
        """Yield the changes in doubt that reading back settles."""
        for write in writes:
            present = self._read(write)
            if _is_as_wanted(write.task, present):
                yield write, WriteResult(WriteState.APPLIED, {"reconciled": "read back"})
            elif not final:
                continue
            elif not _is_as_expected(write.task, present):
                yield write, with_reason(WriteState.UNPROVEN, _NEITHER)
            else:
                yield write, result_of_absence(write, _LOST)

    def check_rejected(self, writes: Sequence[RecordWrite]) -> Results:
        """Yield the rejected changes that were made anyway."""
        for write in writes:
            if write.attempts and _is_as_wanted(write.task, self._read(write)):
                yield write, WriteResult(WriteState.APPLIED, {"reconciled": "read back"})

    def _request(self, write: RecordWrite, present: PresentRecord) -> Outcome:
        task = write.task
        client = self._context.client
        if self._change.by_import:
            # An import of one row replaces its record.
            resource, row = self._resource, {**self._rows[write.position], **task.values}
            content = self._context.workbook_of(resource, [row])
            name = f"{resource.name}-{self._job.id}-{write.position + 1}.xlsx"
            return client.send(
                resource.paths.direct,
                path={"resource": resource.name},
                query=ImportQuery(),
                file=UploadFile(name, content),
            )
        number = self._reader.number(task.record)
        if task.wanted is None:
            operation = operation_named(self._change.delete_name or "")
            path = dict(zip(operation.path_parameters, number.values(), strict=True))
            return client.send(operation, path=path)
        operation = self._change.operation
        path = dict(zip(operation.path_parameters, number.values(), strict=False))
        body = _body(operation, task, {} if path else number, present)
        return client.send(operation, path=path, body=body)

    def _read(self, write: RecordWrite) -> PresentRecord | None:
        row: RowValues = self._rows[write.position]
        return self._reader.read(write.task.record, row)


def _body(
    operation: Operation, task: RecordTask, number: Mapping[str, str], present: PresentRecord
) -> dict[str, object]:
    """Return the record to send: the one that was read, updated with the task's values.

    Fields that only the record's model has are read-only; those that no model has are kept.
    """
    if operation.body is None:
        raise AssertionError(f"{operation.name} takes no record")
    fields = operation.body.model_fields
    read_only = getattr(record_model(operation.data), "model_fields", {}).keys() - fields.keys()
    kept = {n: plain_json(v) for n, v in (present.whole or {}).items() if n not in read_only}
    codes = {name: int(part) for name, part in number.items()}
    body = {**kept, **task.values, **codes}
    filled = {name: value for name, value in body.items() if value is not None}
    return _with_aliases(operation.body, filled)


def _with_aliases(model: type[WireModel], record: Mapping[str, Any]) -> dict[str, object]:
    """Return a record with the wire names of its fields, if the model has them."""
    sent: dict[str, object] = {}
    for name, value in record.items():
        field = model.model_fields.get(name)
        part = None if field is None else record_model(field.annotation)
        if part is not None and isinstance(value, list):
            value = [_with_aliases(part, item) for item in value]
        alias = None if field is None else field.serialization_alias
        sent[alias or name] = value
    return sent


def _is_as_wanted(task: RecordTask, present: PresentRecord | None) -> bool:
    if task.wanted is None or present is None:
        return task.wanted is None and present is None
    return present.has(task.wanted)


def _is_as_expected(task: RecordTask, present: PresentRecord | None) -> bool:
    return present is not None and present.has(task.expected)
