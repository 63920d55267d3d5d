"""Creations of single records: each announced, sent once, and settled by reading back if in doubt.

See the upload protocol, Record by record and Keyless records. Counts of an inventory are registered
as far as the system does not have them yet: a lost answer is harmless, since a count that is
registered again is corrected, and the inventory shows whether a count was started. See the spec,
States (opening, product count registration), and ``docs/assumptions.md``.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from xlbridge.client import Declined, Doubtful, Executed, Outcome
from xlbridge.errors import ApiError, ErrorDetail, InDoubt, RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.resources.remote import ExistingPolicy, ReadBack, RecordCreation
from xlbridge.upload.executor import (
    Announce,
    PreparedWrite,
    RecordChannel,
    SharedPause,
    Withdrawn,
    problems_of,
    result_of,
    result_of_absence,
    send_once,
    with_reason,
)
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.bulk_lookup import read_snapshot
from xlbridge.upload.lookup.comparison import (
    business_keys,
    comparable_value,
    differing_lists,
)
from xlbridge.upload.lookup.snapshot import (
    CODE_SEPARATOR,
    FoundRecord,
    Moment,
    Presence,
    Snapshot,
    TypedRows,
    filled_columns,
    find_new,
    values_of,
)
from xlbridge.upload.requests import has_two_spellings
from xlbridge.upload.row_changes import (
    Problem,
    RecordWrite,
    Results,
    WriteResult,
    WriteState,
    plain_json,
    problems_note,
)
from xlbridge.wire import WireModel
from xlbridge.wire.stock import (
    INVENTORY_CLOSE,
    INVENTORY_COUNT,
    INVENTORY_ITEMS,
    INVENTORY_SHOW,
    INVENTORY_START_COUNT,
    CountedProduct,
    InventoryCount,
)

if TYPE_CHECKING:
    from xlbridge.client import Client
    from xlbridge.upload.run_context import RunContext

LIST = "contagens"
"""List of an inventory that holds its counts."""

_ROUND = "contagem"
_NUMBER = "idInventario"
_ITEMS = "itens"

Line = Mapping[str, Any]


def register_counts(client: "Client", number: str, lines: Sequence[Line]) -> None:
    """Register the counts of an open inventory, one after another.

    Raises ``RemoteRejected`` if the system refuses one, with details that name items of the list;
    another ``ApiError`` if it does not answer, after which this may be called again.
    """
    path = {_NUMBER: number}
    rounds = sorted({_round_of(line) for line in lines})
    for count in rounds:
        positions = [at for at, line in enumerate(lines) if _round_of(line) == count]
        existing = client.call(INVENTORY_ITEMS, path=path) or []
        if _counted(existing, count) >= {_key(lines[at]) for at in positions}:
            continue
        _start(client, path, count)
        items = [CountedProduct.model_validate(_filled(lines[at])) for at in positions]
        try:
            client.call(
                INVENTORY_COUNT, path={**path, _ROUND: count}, body=InventoryCount(itens=items)
            )
        except RemoteRejected as refusal:
            details = [_list_detail(detail, positions) for detail in refusal.details]
            raise RemoteRejected(
                refusal.message, status=refusal.status, details=details, hint=refusal.hint
            ) from refusal


def close_inventory(client: "Client", number: str) -> bool:
    """Close an inventory whose counts were refused; return whether it is certainly closed."""
    try:
        client.call(INVENTORY_CLOSE, path={_NUMBER: number})
    except (RemoteRejected, InDoubt):
        return bool(client.call(INVENTORY_SHOW, path={_NUMBER: number}).encerrado)
    return True


def _start(client: "Client", path: Mapping[str, str], count: int) -> None:
    """Start a count if it is not started yet."""

    def is_started() -> bool | None:
        started: bool | None = getattr(
            client.call(INVENTORY_SHOW, path=path), f"inventarioContagem{count}"
        )
        return started

    if is_started():
        return
    try:
        client.call(INVENTORY_START_COUNT, path={**path, _ROUND: count})
    except (RemoteRejected, InDoubt):
        if not is_started():
            raise


def _round_of(line: Line) -> int:
    return int(line[_ROUND])


def _filled(line: Line) -> dict[str, Any]:
    return {name: value for name, value in line.items() if value is not None}


def _key(line: Line) -> tuple[Any, ...]:
    named = _filled(line)
    quantity = Decimal(str(named["quantidade"]))
    return named["idProd"], named.get("numeroDeSerieLote"), named.get("codigoDoProjeto"), quantity


def _counted(items: Sequence[Any], count: int) -> set[tuple[Any, ...]]:
    """Return the keys of the items that the system has counted."""
    found = (item.model_dump() for item in items)
    return {
        _key({**item, "quantidade": item[f"quantidadeContagem{count}"]})
        for item in found
        if item[f"quantidadeContagem{count}"] is not None and item["idProd"] is not None
    }


def _list_detail(detail: ErrorDetail, positions: Sequence[int]) -> ErrorDetail:
    """Return a detail about an item of the request as one about the item of the record's list."""
    head, _, rest = detail.key.partition(".")
    index, _, field = rest.partition(".")
    if head != _ITEMS or not index.isdecimal() or int(index) >= len(positions):
        return detail
    return ErrorDetail(f"{LIST}.{positions[int(index)]}.{field}".rstrip("."), detail.value)


_APPEARED = Text(
    pt="um registro com a mesma chave entrou no sistema depois do plano ({code}); a linha não foi "
    "incluída",
    en="a record with the same key was added to the system after the plan ({code}); the row was "
    "not created",
)
_LOST = Text(
    pt="não foi incluído: o sistema não respondeu a {n} tentativas, e o registro não está lá",
    en="was not created: the system did not answer {n} attempts, and the record is not there",
)
_NOT_READABLE = Text(
    pt="a resposta se perdeu, e nenhuma chave permite procurar o registro no sistema",
    en="the answer was lost, and there is no key to look the record up in the system",
)
_NOT_THE_SAME = Text(
    pt="a resposta se perdeu, e o sistema tem um registro novo com a mesma chave e outros valores",
    en="the answer was lost, and the system has a new record with the same key and other values",
)
_WITHOUT_NUMBER = Text(
    pt="foi incluído, mas o sistema não informou o número: as suas listas não foram registradas",
    en="was created, but the system did not return its number: its lists were not registered",
)
_NOT_ACCEPTED = Text(
    pt="o sistema não aceita este valor ({why})",
    en="the interface does not accept this value ({why})",
)
_CLOSED = Text(
    pt="o registro {code}, que acabava de ser incluído, foi encerrado",
    en="the record {code}, created just before, was closed",
)
_LISTS_REFUSED = Text(
    pt="o registro {code} foi incluído, e as suas listas foram rejeitadas: {why}",
    en="the record {code} was created, and its lists were rejected: {why}",
)
_ENDED_BEFORE_LISTS = Text(
    pt="foi incluído com o número {code}; as suas listas ainda não foram registradas",
    en="was created with the number {code}; its lists are not registered yet",
)


@dataclass(frozen=True, slots=True)
class _Baseline:
    """Lookup that settles records in doubt, and its result before any was sent.

    ``by_content``: it finds identical records, which can only be counted.
    """

    resource: Resource
    before: Snapshot
    by_content: bool = False


class RecordCreator(RecordChannel):
    """Creator of the records of one job."""

    def __init__(
        self,
        context: "RunContext",
        job: Job,
        rows: TypedRows,
        pause: SharedPause,
        creation: RecordCreation,
        writes: Sequence[RecordWrite],
    ) -> None:
        self._context = context
        self._job = job
        self._creation = creation
        self._rows = rows
        body = creation.operation.body
        fields = () if body is None else body.model_fields
        # Most columns are empty.
        self._filled = [n for n in fields if any(one is not None for one in values_of(rows, n))]
        self._pause = pause
        planned = context.journal.plan_of(context.journal.job(job.whole))
        keys_by_row = {row.row: tuple(row.keys) for row in planned}
        # Digests of the business keys of the rows, in order.
        self._keys = [keys_by_row.get(row, ()) for row in job.spec.rows]
        self._by_key = _Baseline(context.resource(job), self._stored(Moment.BEFORE))
        self._by_content: _Baseline | None = None
        if creation.identical is not None and context.client.target.exclusive:
            # Identical records share their content.
            read_back = ReadBack(
                lookups=(creation.identical,),
                codes=creation.identical_codes,
                existing=ExistingPolicy.ADDED,
            )
            resource = replace(self._by_key.resource, read_back=read_back)
            found = self._stored(Moment.IDENTICAL)
            self._by_content = _Baseline(resource, found, by_content=True)
            contents = business_keys(resource, rows)
            self._keys = [key or content for key, content in zip(self._keys, contents, strict=True)]
        applied = (write for write in writes if write.state is WriteState.APPLIED)
        self._created = {write.position: write.record for write in applied}

    def _stored(self, moment: Moment) -> Snapshot:
        snapshots = self._context.journal.snapshots
        return snapshots.newest_of(len(self._rows), self._job.id, moment)

    def before_first(self, writes: Sequence[RecordWrite]) -> None:
        """Read records identical to the rows, before the first of the job's ``writes`` is sent.

        Not while other uploads are running, whose records could be mistaken for ours; then a
        person settles doubts. Raises ``ApiError`` if the system cannot be reached.
        """
        baseline = self._by_content
        if baseline is None or None not in self._by_key.before:
            return
        job, journal = self._job, self._context.journal
        others = [one for one in journal.jobs() if one.spec.scope == job.spec.scope]
        if any(write.attempts for write in writes) or any(
            part.id != job.id and not part.state.is_unsent and not part.state.is_final
            for other in others
            for part in journal.requests_of(other)
        ):
            return
        found = read_snapshot(self._context.client, baseline.resource, self._rows)
        self._context.journal.snapshots.store(self._job.id, Moment.IDENTICAL, found)
        self._by_content = replace(baseline, before=found)

    def tokens(self, write: RecordWrite) -> frozenset[str]:
        """Return the keys of a row, which concurrent writes must not share."""
        return frozenset(self._keys[write.position])

    def prepare(self, write: RecordWrite) -> PreparedWrite:
        """Return the creation of a row's record, which starts with its request."""
        body = self._body(write)
        if isinstance(body, WriteResult):
            return PreparedWrite(lambda _: body)
        return PreparedWrite(partial(self._create, write, body), sends_first=True)

    def _create(self, write: RecordWrite, body: WireModel, announce: Announce) -> WriteResult:
        """Create a record. Raises ``Withdrawn`` if the run is ending."""
        readable = self._baseline(write) is not None
        operation = self._creation.operation

        def read_back(declined: Declined) -> Outcome | None:
            ((_, presence),) = self._look_up([write])
            if presence.present:
                return Executed(presence.code)
            return None if presence.present is False else Doubtful(declined.reason)

        outcome = send_once(
            self._context,
            send=lambda: self._context.client.send(operation, body=body),
            announce=lambda: announce({}),
            read_back=read_back if readable else None,
            pause=self._pause,
        )
        if isinstance(outcome, Executed):
            return self._register_lists(write, self._applied(write, outcome.data, body), announce)
        return result_of(outcome)

    def find_appeared(self, writes: Sequence[RecordWrite]) -> Results:
        """Yield the rows for whose key a record was added to the system after the plan."""
        keyed = [write for write in writes if self._by_key.before[write.position] is not None]
        for write, presence in self._look_up(keyed):
            if presence.has_new:
                reason = _APPEARED.format(code=presence.code or "–")
                yield write, with_reason(WriteState.CHANGED, reason)

    def settle(self, writes: Sequence[RecordWrite], *, final: bool) -> Results:
        """Yield the creations in doubt that reading back settles."""
        numbered = [write for write in writes if write.record]
        for write in numbered:
            yield write, self._complete(write, {"record": write.record})
        for write, presence in self._look_up([write for write in writes if not write.record]):
            if presence.present:
                yield write, self._found(write, presence)
            elif self._baseline(write) is None or (final and presence.has_new is None):
                yield write, with_reason(WriteState.UNPROVEN, _NOT_READABLE)
            elif not final:
                continue
            elif presence.present is None:
                yield write, with_reason(WriteState.UNPROVEN, _NOT_THE_SAME)
            else:
                yield write, result_of_absence(write, _LOST)

    def check_rejected(self, writes: Sequence[RecordWrite]) -> Results:
        """Yield the rejected creations whose new records are there."""
        readable = [write for write in writes if write.attempts and not write.withdrawn_record]
        for write, presence in self._look_up(readable):
            if presence.present:
                yield write, self._found(write, presence)

    def _found(self, write: RecordWrite, presence: Presence) -> WriteResult:
        """Return the result of a creation whose record was read back."""
        self._created[write.position] = presence.code
        return self._complete(write, {"record": presence.code, "reconciled": "read back"})

    def _body(self, write: RecordWrite) -> WireModel | WriteResult:
        """Return a row's record as it is sent, or a rejection if the model does not accept it."""
        model = self._creation.operation.body
        if model is None:
            raise AssertionError(f"{self._creation.operation_name} takes no record")
        try:
            row = self._rows[write.position]
            values = {n: value for n in self._filled if (value := row.get(n)) is not None}
            return model.model_validate(values)
        except ValidationError as error:
            problems = [
                (".".join(map(str, problem["loc"])), _NOT_ACCEPTED.format(why=problem["msg"]))
                for problem in error.errors()
            ]
            return WriteResult(WriteState.REJECTED, problems_note(problems))

    def _applied(self, write: RecordWrite, data: Any, sent: WireModel) -> WriteResult:
        """Return the result of a creation from the system's answer, or from the code read back."""
        if isinstance(data, str):
            self._created[write.position] = data
            return WriteResult(WriteState.APPLIED, {"record": data})
        answer = data.model_dump(exclude_unset=True) if isinstance(data, WireModel) else {}
        if self._creation.operation.refuses_in_data:
            answer = answer.get("payload") or {}
        codes = [answer.get(name) for name in self._creation.codes]
        code = CODE_SEPARATOR.join(map(str, codes)) if codes and None not in codes else ""
        self._created[write.position] = code
        assigned = {
            name: plain_json(value)
            for name, value in answer.items()
            if isinstance(value, str | int | float | Decimal) and getattr(sent, name, None) is None
        }
        compared = self._compare(sent, answer)
        return WriteResult(WriteState.APPLIED, {"record": code, "assigned": assigned, **compared})

    def _compare(self, sent: WireModel, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that an answer shows otherwise than they were sent, with both values,
        and those with an open spelling, and of lists, that it shows as they were sent.

        The system numbers a record whose code is zero.
        """
        resource = self._context.resource(self._job)
        columns = resource.by_name
        unlike: dict[str, Sequence[str | None]] = {}
        taken: list[str] = []
        for name in self._filled:
            value, column = getattr(sent, name), columns.get(name)
            if name not in answer or column is None or value in (None, 0):
                continue
            mine, theirs = (comparable_value(column.kind, one) for one in (value, answer[name]))
            if mine != theirs:
                unlike[name] = mine, theirs
            elif has_two_spellings(name):
                taken.append(name)
        for child in resource.children:
            items, theirs = getattr(sent, child.sheet, None), answer.get(child.sheet)
            if items and theirs:
                # What a sheet leaves empty, the system may fill in.
                own = [item.model_dump(exclude_none=True) for item in items]
                if differing := differing_lists(child, own, theirs):
                    unlike[child.sheet] = differing
                else:
                    shown = filled_columns(child.sheet, theirs)
                    taken += sorted(filled_columns(child.sheet, own) & shown)
        found = {"unlike": unlike, "taken": taken}
        return {name: fields for name, fields in found.items() if fields}

    def _separate_items(self, write: RecordWrite) -> list[Mapping[str, Any]]:
        """Return the items of a record that are registered by separate operations."""
        row = self._rows[write.position]
        return [item for name in self._creation.lists for item in row.get(name) or ()]

    def _register_lists(
        self, write: RecordWrite, created: WriteResult, announce: Announce
    ) -> WriteResult:
        """Register the lists of a new record, after its number was announced."""
        code = created.detail.get("record")
        if not code or not self._separate_items(write):
            return self._complete(write, created.detail)
        try:
            announce({"record": code})
            return self._complete(write, created.detail)
        except Withdrawn:
            reason = _ENDED_BEFORE_LISTS.format(code=code)
        except ApiError as error:
            reason = error.message
        return with_reason(WriteState.DOUBTFUL, reason, record=code)

    def _complete(self, write: RecordWrite, detail: Mapping[str, Any]) -> WriteResult:
        """Register the missing items of a created record's lists; close the record if refused.

        Raises ``ApiError`` if the system cannot be reached.
        """
        items, code = self._separate_items(write), detail["record"]
        if not items:
            return WriteResult(WriteState.APPLIED, detail)
        if not code:
            return with_reason(WriteState.UNPROVEN, _WITHOUT_NUMBER)
        try:
            register_counts(self._context.client, code, items)
        except RemoteRejected as refusal:
            if close_inventory(self._context.client, code):
                closed: Problem = None, _CLOSED.format(code=code)
                problems = problems_note([*problems_of(refusal.details), closed])
                return WriteResult(WriteState.REJECTED, problems)
            why = refusal.message
            return with_reason(WriteState.UNPROVEN, _LISTS_REFUSED.format(code=code, why=why))
        return WriteResult(WriteState.APPLIED, detail)

    def _baseline(self, write: RecordWrite) -> _Baseline | None:
        """Return the baseline that settles a doubt about a record, None if there is none."""
        for baseline in (self._by_key, self._by_content):
            if baseline is not None and baseline.before[write.position] is not None:
                return baseline
        return None

    def _look_up(self, writes: Sequence[RecordWrite]) -> Iterator[tuple[RecordWrite, Presence]]:
        """Yield the writes with the presence of their records in the system."""
        for baseline in (self._by_key, self._by_content, None):
            group = [write for write in writes if self._baseline(write) is baseline]
            if baseline is None:
                yield from ((write, Presence()) for write in group)
            elif group:
                yield from zip(group, self._presences(group, baseline), strict=True)

    def _presences(self, writes: Sequence[RecordWrite], baseline: _Baseline) -> list[Presence]:
        """Match the rows of writes with the records that are new since before sending.

        Rows with the same key whose records this job has created, with codes unknown, are matched
        with them.
        """
        created = dict(self._created)
        doubtful = [write.position for write in writes]
        keys = {key for at in doubtful for key in self._keys[at]}
        written = {
            at
            for at, code in created.items()
            if not code and at not in doubtful and not keys.isdisjoint(self._keys[at])
        }
        rows = [*doubtful, *sorted(written)]
        try:
            found = read_snapshot(
                self._context.client, baseline.resource, [self._rows[at] for at in rows]
            )
        except RemoteRejected:
            return [Presence()] * len(writes)
        new: dict[int, Sequence[FoundRecord]] = {}
        for at, now in zip(rows, found, strict=True):
            before = baseline.before[at]
            if before is not None and now is not None:
                new[at] = now.new_since(before)
        by_key: defaultdict[str, list[int]] = defaultdict(list)
        for at in new:
            for key in self._keys[at]:
                by_key[key].append(at)
        taken = {code for code in created.values() if code}
        presences = []
        for at in doubtful:
            sharing = {other for key in self._keys[at] for other in by_key[key]}
            group = sorted({at, *sharing} & new.keys())
            known = find_new(
                {other: new[other] for other in group},
                [other for other in group if other in written],
                taken,
                counted=baseline.by_content,
            )
            presences.append(known.get(at, Presence()))
        return presences
