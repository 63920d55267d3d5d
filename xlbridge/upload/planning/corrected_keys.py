"""Rows whose key was corrected after they were sent: their records have the earlier key.

The look-up of such a row finds nothing, and creating it would add a second record. The journal
knows what the same sheet was sent with before. A row to create is such a row if the sheet lacks an
earlier row now from which it differs in one column of the key, and the system still has the record
of that one.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from xlbridge.client import Client
from xlbridge.errors import LocalFailure
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.titles import row_text
from xlbridge.upload.claims import ClaimScope
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.lookup.bulk_lookup import MAX_REQUESTS, read_snapshot
from xlbridge.upload.lookup.comparison import RowMatcher, lookups_of_rows
from xlbridge.upload.lookup.snapshot import Matching, RowValues, TypedRows
from xlbridge.upload.planning.planned_row import PlannedRow, RowAction, RowPlan, RowReason

if TYPE_CHECKING:
    from xlbridge.upload.payload import SheetSource

_SENT_AS = Text(
    pt="envio {job}, linha {row}: registro {record}", en="upload {job}, row {row}: record {record}"
)
_SENT_BY = Text(pt="envio {job}", en="upload {job}")
_BY_NUMBER = Text(
    pt="{sent}; para alterar o registro, exporte-o com --as-template {resource}, corrija a chave "
    "ali e envie com --update",
    en="{sent}; to change the record, export it with --as-template {resource}, correct the key "
    "there and send it with --update",
    page=Text(
        pt="{sent}; para alterar o registro, exporte-o em Exportar, no formato “Planilha de "
        "importação”, corrija a chave ali e envie com “Alterar registros que já existem com "
        "outros valores”",
        en="{sent}; to change the record, export it under Export, in the format “Import sheet”, "
        "correct the key there and send it with “Change records that exist with other values”",
    ),
)
_BY_HAND = Text(
    pt="{sent}; altere o registro manualmente no sistema",
    en="{sent}; change the record by hand in the system",
)


@dataclass(frozen=True, slots=True)
class _EarlierRow:
    """Row that a job has sent, by its Excel number then, and which the sheet lacks now."""

    job: str
    row: int
    values: RowValues


def sent_with_other_key(
    number: int,
    resource: Resource,
    columns: Collection[str],
    job: str,
    row: int | None = None,
    record: str = "",
) -> PlannedRow:
    """Return a row, by its ``number``, that a job has sent with another key, which differs in
    ``columns``.

    ``row`` is its number in the sheet that was sent, and ``record`` its record, if they are known.
    """
    sent = _SENT_BY.format(job=job)
    if row is not None:
        sent = _SENT_AS.format(job=job, row=row_text(row), record=record)
    change = resource.change
    numbers = () if resource.read_back is None else resource.read_back.number_columns
    changes = change is not None and change.operation_name and change.covers(columns)
    how = _BY_NUMBER if changes and numbers else _BY_HAND
    why = how.format(sent=sent, resource=resource.name)
    return PlannedRow(number, RowAction.HELD, RowReason.SENT_OTHERWISE, why=why)


def rows_with_corrected_keys(
    journal: Journal,
    client: Client,
    source: "SheetSource",
    plan: RowPlan,
    read: Callable[[Job], TypedRows],
) -> Mapping[int, PlannedRow]:
    """Return the rows whose records have the keys that the sheet was sent with before.

    ``read`` returns the rows that an earlier job sent. Raises what ``Client.records`` raises.
    """
    new = [
        at
        for at, row in enumerate(plan.rows)
        if row.action is RowAction.CREATE or row.reason is RowReason.NOT_IN_SYSTEM
    ]
    resource, declared = source.resource, source.resource.read_back
    if declared is None or declared.existing is ExistingPolicy.REPLACED or not new:
        return {}
    scope = ClaimScope(client.identity, resource.name)
    present = frozenset(chain.from_iterable(row.keys for row in plan.rows))
    earlier = list(_missing_rows(journal, scope, source, present, read))
    if not earlier:
        return {}
    corrected = _match(RowMatcher(resource, declared), source, new, earlier)
    if not corrected:
        return {}
    sent = [earlier[index] for index, _ in corrected.values()]
    found = read_snapshot(client, resource, [row.values for row in sent], MAX_REQUESTS)
    used = {row.record for row in plan.rows}
    aside = {}
    for (at, (_, column)), row, snapshot in zip(corrected.items(), sent, found, strict=True):
        codes = [
            record.code
            for record in (() if snapshot is None else snapshot.found)
            if record.code not in used and resource.totals.amount not in record.differing
        ]
        if codes:
            aside[at] = sent_with_other_key(
                source.rows[at], resource, [column], row.job, row.row, ", ".join(codes)
            )
    return aside


def _missing_rows(
    journal: Journal,
    scope: ClaimScope,
    source: "SheetSource",
    present: Collection[str],
    read: Callable[[Job], TypedRows],
) -> Iterator[_EarlierRow]:
    """Yield the rows that jobs have sent from a sheet and whose keys are not ``present`` in it."""
    seen = set(present)
    jobs = journal.jobs_of_file(scope, source.file, source.sheet)
    for job in (one for each in jobs for one in journal.requests_of(each)):
        if job.state.is_unsent:
            continue
        claimed = journal.claims.keys_of(job.id)
        missing = {at: keys for at, keys in claimed.items() if seen.isdisjoint(keys)}
        if missing:
            try:
                values = read(job)
            except LocalFailure:  # Somebody has removed the stored workbook.
                continue
            for at, keys in missing.items():
                seen.update(keys)
                yield _EarlierRow(job.whole, job.spec.rows[at], dict(values[at]))


def _match(
    matcher: RowMatcher, source: "SheetSource", new: Sequence[int], earlier: Sequence[_EarlierRow]
) -> Mapping[int, tuple[int, str]]:
    """Return for each new row the earlier one that it corrects, and the column that differs.

    A row that has not moved comes first.
    """
    sent: TypedRows = [row.values for row in earlier]
    by_content: defaultdict[_Content, list[int]] = defaultdict(list)
    for content, index in _contents(matcher, source.columns, sent, range(len(earlier))):
        by_content[content].append(index)
    candidates: defaultdict[int, dict[int, str]] = defaultdict(dict)
    for content, at in _contents(matcher, source.columns, source.values, new):
        for index in by_content.get(content, ()):
            candidates[at].setdefault(index, content[1])
    matching = Matching(range(len(earlier)))
    for at, found in candidates.items():
        matching.give(at, (index for index in found if earlier[index].row == source.rows[at]))
    for at, found in candidates.items():
        matching.give(at, found)
    return {at: (index, candidates[at][index]) for at, index in sorted(matching.matched.items())}


_Content = tuple[int, str, tuple[str | None, ...]]
"""Index of a lookup, one column of its key, and the values that show that two rows which differ in
this column are the same one."""


def _contents(
    matcher: RowMatcher, sheet: Collection[str], rows: TypedRows, positions: Sequence[int]
) -> Iterator[tuple[_Content, int]]:
    """Yield the contents of the rows at the given positions; ``sheet`` are the sheet's columns.

    These are the rest of the key, and the amount if the resource has one; otherwise, and if the key
    has no other column, all other columns of the sheet.
    """
    amount = matcher.resource.totals.amount
    lookups = lookups_of_rows(matcher.resource, rows)
    for number, lookup in enumerate(matcher.declared.lookups):
        for column in lookup.key:
            rest = [name for name in lookup.key if name != column]
            others = [
                name
                for name in matcher.resource.by_name
                if name in sheet and name not in lookup.key
            ]
            evidence = [amount] if amount and rest else others
            texts = [matcher.column(name, rows) for name in (*rest, *evidence)]
            for at in positions:
                values = tuple([values[at] for values in texts])
                if lookup in lookups[at] and any(values[len(rest) :]):
                    yield (number, column, values), at
