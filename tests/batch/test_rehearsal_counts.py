"""Counts and violations of a table, for all outcomes of its sent rows.

Inside: batch.
"""

import pytest

from xlbridge.batch.rehearsal.checks import (
    RowId,
    SentTable,
    TrialChecks,
    Violation,
    ViolationKind,
    check_table,
)
from xlbridge.i18n import untranslated
from xlbridge.resources import Catalogue
from xlbridge.sandbox.rehearsal import StoredRows

ADDS, REPLACES = "contasreceber", "enderecamento-de-produto"
LOST, TWICE = ViolationKind.LOST, ViolationKind.TWICE


def row_id(number: int) -> RowId:
    return RowId("step", "book.xlsx", number)


def checked(
    catalogue: Catalogue, accepted: int, doubtful: int, gained: int, resource: str = ADDS
) -> TrialChecks:
    """Check a table of 7 rows that has ``gained`` others."""
    sent = SentTable(
        [row_id(n) for n in range(2, 2 + accepted + doubtful)],
        accepted,
        [row_id(n) for n in range(2, 2 + doubtful)],
    )
    checks = TrialChecks()
    check_table(checks, catalogue[resource], sent, StoredRows(7), StoredRows(7 + gained))
    return checks


@pytest.mark.parametrize(
    ("accepted", "doubtful", "gained", "expected"),
    [
        (2, 0, 2, []),
        (2, 0, 1, [LOST]),
        (2, 0, 3, [TWICE]),
        (0, 0, -1, [LOST]),
        (0, 0, 1, [TWICE]),
        (1, 2, 1, []),
        (1, 2, 3, []),
        (1, 2, 4, [TWICE]),
        (1, 2, 0, [LOST]),
    ],
)
def test_rows_that_are_lost_or_stored_twice_are_counted(
    catalogue: Catalogue,
    accepted: int,
    doubtful: int,
    gained: int,
    expected: list[ViolationKind],
) -> None:
    found = checked(catalogue, accepted, doubtful, gained)
    assert [violation.kind for violation in found.violations] == expected
    (table,) = found.tables
    assert (table.expected == gained) is (not expected)


@pytest.mark.parametrize(
    ("gained", "expected"), [(0, []), (1, []), (2, []), (3, [TWICE]), (-1, [LOST])]
)
def test_rows_that_replace_others_may_add_none(
    catalogue: Catalogue, gained: int, expected: list[ViolationKind]
) -> None:
    found = checked(catalogue, 2, 0, gained, REPLACES)
    assert [violation.kind for violation in found.violations] == expected


@pytest.mark.parametrize(("gained", "there"), [(1, False), (2, None), (3, True)])
def test_of_doubtful_rows_without_a_key_only_the_count_is_known(
    catalogue: Catalogue, gained: int, there: bool | None
) -> None:
    found = checked(catalogue, 1, 2, gained)
    assert found.doubts == {row_id(2): there, row_id(3): there}
    replacing = checked(catalogue, 1, 2, gained, REPLACES)
    assert set(replacing.doubts.values()) == {None}


def test_tables_have_titles_in_the_readers_language(catalogue: Catalogue) -> None:
    found = checked(catalogue, 0, 0, 2)
    assert (found.tables[0].table, found.tables[0].title.en) == (
        "receivables",
        "receivable entries",
    )
    assert found.violations[0].message.pt == "contas a receber: 2 linhas a mais do que foi aceito"


def test_records_that_processing_created_are_not_too_many(catalogue: Catalogue) -> None:
    checks = TrialChecks()
    sent = SentTable([row_id(2)], 1)
    check_table(checks, catalogue[ADDS], sent, StoredRows(2, 1), StoredRows(3, 3))
    assert checks.violations == []
    (table,) = checks.tables
    assert (table.before, table.after, table.expected, table.derived) == (3, 6, 3, 2)


def test_rows_that_the_proof_has_named_are_not_counted_again(catalogue: Catalogue) -> None:
    checks = TrialChecks()
    checks.violations.append(Violation(LOST, untranslated("gone"), row_id(2)))
    check_table(checks, catalogue[ADDS], SentTable([row_id(2)], 1), StoredRows(1), StoredRows(1))
    assert [(one.kind, one.row_id) for one in checks.violations] == [(LOST, row_id(2))]
