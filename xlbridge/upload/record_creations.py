"""Creations of single records: each announced, sent once, and in doubt settled by reading back.

Source: the upload protocol, Record by record and Keyless records.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, NamedTuple

from pydantic import ValidationError

from xlbridge.client import Declined, Doubtful, Executed, Outcome
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import RecordCreation, Resource
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.bulk_lookup import look_up_rows
from xlbridge.upload.lookup.record_reader import CODE_SEPARATOR, plain_json
from xlbridge.upload.lookup.row_lookup import RowValues
from xlbridge.upload.lookup.snapshot import RowSnapshot, Snapshot
from xlbridge.upload.record_changes import MOST_ATTEMPTS
from xlbridge.upload.record_dispatch import Announce, WriteResult
from xlbridge.upload.record_sending import (
    RecordRequest,
    SharedPause,
    result_of,
    send_record,
    with_reason,
)
from xlbridge.upload.record_writes import RecordTask, RecordWrite, WriteState
from xlbridge.upload.run_context import RunContext
from xlbridge.wire import WireModel

CREATION = RecordTask("", expected={}, wanted={}, values={}, creates=True)
"""Creation of a record; its row in the job's payload says what it is."""

_APPEARED = Text(
    pt="um registro com a mesma chave entrou no sistema depois do plano ({code}); a linha não foi "
    "incluída",
    en="a record of the same key has come into the system since the plan ({code}); the row was not "
    "created",
)
_LOST = Text(
    pt="não foi incluído: o sistema não respondeu a {n} pedidos, e o registro não está lá",
    en="was not created: the system did not answer {n} requests, and the record is not there",
)
_NOT_READABLE = Text(
    pt="a resposta se perdeu, e nenhuma chave permite procurar o registro no sistema",
    en="the answer was lost, and no key lets the record be looked up in the system",
)
_NOT_THE_SAME = Text(
    pt="a resposta se perdeu, e o sistema tem um registro novo com a mesma chave e outros valores",
    en="the answer was lost, and the system has a new record of the same key with other values",
)


class _Presence(NamedTuple):
    """New records of a row: the code of one that is as the row says, how many there are.

    ``new`` is None where nothing tells.
    """

    code: str | None
    new: int | None


_UNKNOWN = _Presence(None, None)


class RecordCreator:
    """Creator of the records of one job."""

    def __init__(
        self,
        context: RunContext,
        job: Job,
        rows: Sequence[RowValues],
        pause: SharedPause,
        creation: RecordCreation,
        writes: Sequence[RecordWrite],
    ) -> None:
        self._context = context
        self._resource: Resource = context.resource(job)
        self._operation = creation.operation
        self._rows = rows
        self._pause = pause
        self._keys = _keys_of_rows(context, job)
        readings = context.journal.snapshots_before(job.id)
        self._before: Snapshot = readings[-1] if readings else (None,) * len(rows)
        self._created = {write.position: write.record for write in writes if write.record}

    def tokens(self, write: RecordWrite) -> frozenset[str]:
        """Return what no two writes on their way may share: the keys of their rows."""
        return frozenset(self._keys[write.position])

    def write(self, write: RecordWrite, announce: Announce) -> WriteResult:
        """Create the record of a row. Raises ``Withdrawn`` when the run is ending."""
        body = self._body(write)
        if isinstance(body, WriteResult):
            return body
        readable = self._before[write.position] is not None
        request = RecordRequest(
            send=lambda: self._context.client.send(self._operation, body=body),
            announce=lambda: announce({}),
            read_back=(lambda declined: self._after_put_off(write, declined)) if readable else None,
        )
        outcome = send_record(self._context, self._pause, request)
        if isinstance(outcome, Executed):
            return self._applied(write, outcome.data, body)
        return result_of(outcome)

    def appeared(self, writes: Sequence[RecordWrite]) -> Iterator[tuple[RecordWrite, WriteResult]]:
        """Yield the rows whose key has a record in the system that it had not when it was planned.

        Raises ``ApiError`` when the system cannot be asked.
        """
        for write, after in self._looked_up(writes):
            presence = self._presence(write, after)
            if presence.new:
                there = presence.code or "–"
                yield write, with_reason(WriteState.CHANGED, _APPEARED.format(code=there))

    def settle(
        self, writes: Sequence[RecordWrite], *, final: bool
    ) -> Iterator[tuple[RecordWrite, WriteResult]]:
        """Yield what reading back proves of creations in doubt.

        Only with ``final``, once no request can be on its way, a record that is not there proves
        something. Raises ``ApiError`` when the system cannot be asked.
        """
        for write, after in self._looked_up(writes):
            code, new = self._presence(write, after)
            if code is not None:
                self._created[write.position] = code
                detail = {"record": code, "reconciled": "read back"}
                yield write, WriteResult(WriteState.APPLIED, detail)
            elif self._before[write.position] is None or (final and new is None):
                yield write, with_reason(WriteState.UNPROVEN, _NOT_READABLE)
            elif not final:
                continue
            elif new:
                yield write, with_reason(WriteState.UNPROVEN, _NOT_THE_SAME)
            elif write.attempts < MOST_ATTEMPTS:
                yield write, WriteResult(WriteState.NOT_APPLIED)
            else:
                yield write, with_reason(WriteState.REJECTED, _LOST.format(n=write.attempts))

    def _body(self, write: RecordWrite) -> WireModel | WriteResult:
        """Return the record of a row as it is sent, or why the interface cannot take it."""
        if self._operation.body is None:
            raise AssertionError(f"{self._operation.name} takes no record")
        try:
            return record_of_row(self._operation.body, self._rows[write.position])
        except ValidationError as error:
            problems = [(".".join(map(str, one["loc"])), one["msg"]) for one in error.errors()]
            return WriteResult(WriteState.REJECTED, {"problems": problems})

    def _applied(self, write: RecordWrite, data: Any, sent: WireModel) -> WriteResult:
        """Return the result of a creation: by the system's answer, or the code that was read."""
        if isinstance(data, str):
            self._created[write.position] = data
            return WriteResult(WriteState.APPLIED, {"record": data})
        answer = data.model_dump(exclude_none=True) if isinstance(data, WireModel) else {}
        declared = self._resource.read_back
        codes = [answer.get(name) for name in (() if declared is None else declared.codes)]
        known = bool(codes) and None not in codes
        code = CODE_SEPARATOR.join(map(str, codes)) if known else ""
        if code:
            self._created[write.position] = code
        given = {
            name: plain_json(value)
            for name, value in answer.items()
            if isinstance(value, str | int | float | Decimal) and getattr(sent, name, None) is None
        }
        return WriteResult(WriteState.APPLIED, {"record": code, "given": given})

    def _after_put_off(self, write: RecordWrite, declined: Declined) -> Outcome | None:
        """Return what reading back proves of a request that was put off; None: not executed."""
        ((_, after),) = self._looked_up([write])
        code, new = self._presence(write, after)
        if code is not None:
            return Executed(code)
        return None if new == 0 else Doubtful(declined.reason)

    def _looked_up(
        self, writes: Sequence[RecordWrite]
    ) -> Iterator[tuple[RecordWrite, RowSnapshot | None]]:
        """Yield the records of the writes' rows as they are now; None where they are not read."""
        rows = [self._rows[write.position] for write in writes]
        now: Snapshot = (None,) * len(rows)
        if any(self._before[write.position] is not None for write in writes):
            with suppress(RemoteRejected):
                now, _ = look_up_rows(self._context.client, self._resource, rows, most=None)
        yield from zip(writes, now, strict=True)

    def _presence(self, write: RecordWrite, after: RowSnapshot | None) -> _Presence:
        before = self._before[write.position]
        if before is None or after is None:
            return _UNKNOWN
        of_others = {code for at, code in self._created.items() if at != write.position}
        known = {record.code for record in before.found} | of_others
        new = [record for record in after.found if record.code not in known]
        return _Presence(next((one.code for one in new if one.same), None), len(new))


def _keys_of_rows(context: RunContext, job: Job) -> list[tuple[str, ...]]:
    """Return the digests of the business keys of a job's rows, in order."""
    planned = context.journal.plan_of(context.journal.job(job.parent or job.id))
    keys = {row.row: row.keys for row in planned}
    return [keys.get(row, ()) for row in job.what.rows]


def record_of_row(model: type[WireModel], row: RowValues) -> WireModel:
    """Return the record that a row becomes; empty cells are left out.

    Raises ``ValidationError`` for what the interface does not take.
    """
    values: Mapping[str, Any] = {
        name: row[name] for name in model.model_fields if row.get(name) is not None
    }
    return model.model_validate(values)
