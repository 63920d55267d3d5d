"""Titles as they are read: with their parts, their descriptions, their files."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, select

from xlbridge.sandbox.tables.financial import (
    OWNER_KEY,
    TITLE_KEY,
    payable_allocations,
    payable_files,
    payables,
    receivable_allocations,
    receivables,
)
from xlbridge.sandbox.tables.registries import abc_costs
from xlbridge.wire.attachments import Attachment
from xlbridge.wire.financial import Allocation, Payable, Receivable

Key = tuple[int, ...]
Condition = ColumnElement[bool]

_ALLOCATION = tuple(Allocation.model_fields)


def read_receivables(connection: Connection, *conditions: Condition) -> list[Receivable]:
    """Return the receivable titles that meet all conditions, in the order of their keys."""
    found = select(receivables).where(*conditions).order_by(*receivables.primary_key)
    parts = _parts(connection, receivables, receivable_allocations, conditions)
    return [
        Receivable.model_construct(**row._mapping, rateio=parts.get(_key(row), []))
        for row in connection.execute(found)
    ]


def read_payables(connection: Connection, *conditions: Condition) -> list[Payable]:
    """Return the payable titles that meet all conditions, in the order of their keys.

    Their files are not filled in.
    """
    described = select(payables, abc_costs.c.name.label("DescricaoDoCustoABC")).outerjoin(
        abc_costs, abc_costs.c.code == payables.c.CodigoDoCustoABC
    )
    found = described.where(*conditions).order_by(*payables.primary_key)
    parts = _parts(connection, payables, payable_allocations, conditions)
    return [
        Payable.model_construct(**row._mapping, rateio=parts.get(_key(row), []))
        for row in connection.execute(found)
    ]


def read_files(connection: Connection, key: Sequence[int]) -> list[Attachment]:
    """Return the files attached to a payable title."""
    found = select(payable_files).where(of_owner(payable_files, key)).order_by(payable_files.c.Id)
    fields = tuple(payable_files.c[name] for name in Attachment.model_fields)
    rows = connection.execute(found.with_only_columns(*fields)).mappings()
    return [Attachment.model_construct(**row) for row in rows]


def of_title(titles: Table, key: Sequence[int]) -> Condition:
    """Return the condition that picks one title."""
    return _same(titles, TITLE_KEY, key)


def of_owner(belongings: Table, key: Sequence[int]) -> Condition:
    """Return the condition that picks what belongs to one title."""
    return _same(belongings, OWNER_KEY, key)


def _same(table: Table, names: Sequence[str], key: Sequence[int]) -> Condition:
    return and_(*(table.c[name] == part for name, part in zip(names, key, strict=True)))


def _key(row: Row[Any]) -> Key:
    return tuple(row._mapping[name] for name in TITLE_KEY)


def _parts(
    connection: Connection, titles: Table, parts: Table, conditions: Sequence[Condition]
) -> dict[Key, list[Allocation]]:
    found = select(parts).join(titles).where(*conditions).order_by(*parts.primary_key)
    grouped: defaultdict[Key, list[Allocation]] = defaultdict(list)
    for row in connection.execute(found).mappings():
        part = Allocation.model_construct(**{name: row[name] for name in _ALLOCATION})
        grouped[tuple(row[name] for name in OWNER_KEY)].append(part)
    return grouped
