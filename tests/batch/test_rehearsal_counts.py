"""Counts and violations of a table, for all outcomes of its sent rows.

Inside: batch.
"""

from collections import Counter
from collections.abc import Sequence

import pytest

from xlbridge.batch.rehearsal.checks import (
    RowId,
    SentTable,
    TableRow,
    TrialChecks,
    ViolationKind,
    check_table,
)
from xlbridge.resources import Catalogue
from xlbridge.sandbox.rehearsal import StoredRows
from xlbridge.upload.results import RowOutcome

A, R, N, U = RowOutcome.ACCEPTED, RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNKNOWN
ADDS, REPLACES = "contasreceber", "enderecamento-de-produto"
_COUNTED = "fornecedor"


def contents(letters: str) -> StoredRows:
    """Return a table with a row for each letter."""
    return StoredRows(Counter(letter.encode() for letter in letters))


def compared(
    catalogue: Catalogue,
    rows: Sequence[tuple[str, RowOutcome]],
    before: str,
    after: str,
    resource: str = ADDS,
) -> TrialChecks:
    """Compare rows by content, or by key if they replace each other; each is one letter."""
    sent = SentTable(
        [
            TableRow(RowId("step", "book.xlsx", number), outcome, letter.encode())
            for number, (letter, outcome) in enumerate(rows, 2)
        ]
    )
    checks = TrialChecks()
    check_table(checks, catalogue[resource], sent, contents(before), contents(after))
    return checks


def broken(found: TrialChecks) -> list[tuple[ViolationKind, int | None]]:
    return [(b.kind, b.row_id.row if b.row_id else None) for b in found.violations]


@pytest.mark.parametrize(
    ("rows", "before", "after", "expected"),
    [
        ([("a", A), ("b", A)], "x", "xab", []),
        ([("a", A), ("a", A)], "", "aa", []),
        ([("a", A)], "", "aa", [(ViolationKind.TWICE, 2)]),
        ([("a", A), ("a", A)], "", "aaa", [(ViolationKind.TWICE, 2)]),
        ([("a", A), ("b", A)], "", "b", [(ViolationKind.LOST, 2)]),
        ([("a", A), ("a", A)], "", "a", [(ViolationKind.LOST, 3)]),
        ([("a", R)], "", "a", [(ViolationKind.WRONGLY_REFUSED, 2)]),
        ([("a", N)], "", "a", [(ViolationKind.WRONGLY_REFUSED, 2)]),
        ([("a", A), ("a", R)], "", "a", []),
        ([("a", R), ("a", A)], "", "aa", [(ViolationKind.TWICE, 3)]),
        ([("a", U)], "", "", []),
        ([("a", U)], "", "a", []),
        ([("a", U)], "", "aa", [(ViolationKind.TWICE, 2)]),
        ([("a", A)], "", "ax", [(ViolationKind.TWICE, None)]),
        ([("a", A)], "x", "a", [(ViolationKind.LOST, None)]),
        ([("a", A)], "a", "a", [(ViolationKind.LOST, 2)]),
    ],
)
def test_breaches_of_a_table_to_which_rows_are_added(
    catalogue: Catalogue,
    rows: list[tuple[str, RowOutcome]],
    before: str,
    after: str,
    expected: list[tuple[ViolationKind, int | None]],
) -> None:
    assert broken(compared(catalogue, rows, before, after)) == expected


@pytest.mark.parametrize(
    ("rows", "before", "after", "expected"),
    [
        ([("a", A)], "x", "xa", []),
        ([("a", A)], "a", "a", []),
        ([("a", A), ("a", A)], "", "a", []),
        ([("a", A)], "", "", [(ViolationKind.LOST, 2)]),
        ([("a", R)], "", "a", [(ViolationKind.WRONGLY_REFUSED, 2)]),
        ([("a", R)], "a", "a", []),
        ([("a", R), ("a", A)], "", "a", []),
        ([("a", U)], "", "", []),
        ([("a", A)], "", "ax", [(ViolationKind.TWICE, None)]),
        ([("a", A)], "x", "a", [(ViolationKind.LOST, None)]),
    ],
)
def test_breaches_of_a_table_in_which_rows_replace_others(
    catalogue: Catalogue,
    rows: list[tuple[str, RowOutcome]],
    before: str,
    after: str,
    expected: list[tuple[ViolationKind, int | None]],
) -> None:
    assert broken(compared(catalogue, rows, before, after, REPLACES)) == expected


@pytest.mark.parametrize(
    ("outcome", "others", "after", "expected"),
    [
        (R, "", "new", [(ViolationKind.WRONGLY_REFUSED, 2)]),
        (N, "", "new", [(ViolationKind.WRONGLY_REFUSED, 2)]),
        (R, "", "old", []),
        (R, "new", "new", []),
        (A, "", "new", []),
        (U, "", "new", []),
    ],
)
def test_a_rejected_row_that_replaced_a_record_is_reported(
    catalogue: Catalogue,
    outcome: RowOutcome,
    others: str,
    after: str,
    expected: list[tuple[ViolationKind, int | None]],
) -> None:
    key = b"k" * 16
    rows = [TableRow(RowId("step", "book.xlsx", 2), outcome, key + b"new")]
    if others:
        rows.append(TableRow(RowId("step", "book.xlsx", 3), A, key + others.encode()))
    tables = [StoredRows(Counter([key + values.encode()])) for values in ("old", after)]
    checks = TrialChecks()
    check_table(checks, catalogue[REPLACES], SentTable(rows), *tables)
    assert broken(checks) == expected


@pytest.mark.parametrize("resource", [ADDS, REPLACES])
def test_rows_in_doubt_are_reported_and_looked_up(catalogue: Catalogue, resource: str) -> None:
    found = compared(catalogue, [("a", U), ("b", U), ("c", A)], "", "bc", resource)
    assert {row_id.row: there for row_id, there in found.doubts.items()} == {2: False, 3: True}
    (table,) = found.tables
    assert (table.before, table.after, table.expected) == (0, 2, 2)


def test_accepted_rows_that_existed_before_are_reported(catalogue: Catalogue) -> None:
    found = compared(catalogue, [("a", A), ("b", A)], "a", "aab")
    assert (broken(found), [row_id.row for row_id in found.preexisting]) == ([], [2])


def test_tables_have_titles_in_the_readers_language(catalogue: Catalogue) -> None:
    found = compared(catalogue, [], "", "aa")
    assert (found.tables[0].table, found.tables[0].title.en) == (
        "receivables",
        "receivable entries",
    )
    assert found.violations[0].message.pt == "contas a receber: 2 linhas a mais do que foi aceito"


def test_a_table_without_sent_rows_must_not_change(catalogue: Catalogue) -> None:
    assert broken(compared(catalogue, [], "x", "xy")) == [(ViolationKind.TWICE, None)]
    # A record that no row changes must stay as it is.
    assert (ViolationKind.LOST, None) in broken(compared(catalogue, [], "x", "y"))
    assert compared(catalogue, [], "x", "x") == TrialChecks()


def counted(
    catalogue: Catalogue,
    outcomes: str,
    before: int,
    after: int,
    *,
    withdrawn: int = 0,
    derived: int = 0,
) -> TrialChecks:
    """Compare single records by their number; each row is a letter: accepted, rejected, unknown,
    changed."""
    of_letter = {"A": A, "R": R, "U": U, "C": A}
    rows = [
        TableRow(RowId("step", "book.xlsx", row), of_letter[letter], creates=letter != "C")
        for row, letter in enumerate(outcomes, 2)
    ]
    checks = TrialChecks()
    check_table(
        checks,
        catalogue[_COUNTED],
        SentTable(rows, counted=True, withdrawn=withdrawn),
        StoredRows(Counter({None: before})),
        StoredRows(Counter({None: after}), derived),
    )
    return checks


@pytest.mark.parametrize(
    ("outcomes", "before", "after", "expected"),
    [
        ("AA", 1, 3, []),
        ("AA", 1, 2, [(ViolationKind.LOST, None)]),
        ("A", 1, 3, [(ViolationKind.TWICE, None)]),
        ("AR", 0, 2, [(ViolationKind.TWICE, None)]),
        ("R", 0, 0, []),
        ("AU", 0, 2, []),
        ("AU", 0, 1, []),
        ("AU", 0, 3, [(ViolationKind.TWICE, None)]),
        ("CA", 1, 2, []),
        ("C", 1, 0, [(ViolationKind.LOST, None)]),
    ],
)
def test_single_records_are_counted(
    catalogue: Catalogue,
    outcomes: str,
    before: int,
    after: int,
    expected: list[tuple[ViolationKind, int | None]],
) -> None:
    assert broken(counted(catalogue, outcomes, before, after)) == expected


@pytest.mark.parametrize(("after", "in_database"), [(1, False), (2, None), (3, True)])
def test_of_doubtful_records_without_a_key_only_the_count_is_known(
    catalogue: Catalogue, after: int, in_database: bool | None
) -> None:
    found = counted(catalogue, "UUA", 0, after)
    assert {row_id.row: there for row_id, there in found.doubts.items()} == {
        2: in_database, 3: in_database
    }  # fmt: skip
    assert [table.expected for table in found.tables] == [after]


def test_withdrawn_and_derived_records_are_not_too_many(catalogue: Catalogue) -> None:
    found = counted(catalogue, "AR", 2, 4, withdrawn=1, derived=2)
    assert broken(found) == []
    (table,) = found.tables
    assert (table.before, table.after, table.expected, table.derived) == (2, 6, 4, 2)


def test_rows_that_the_proof_has_named_are_not_counted_again(catalogue: Catalogue) -> None:
    row_id = RowId("step", "book.xlsx", 2)
    checks = TrialChecks()
    checks.add_violation(ViolationKind.LOST, row_id)
    check_table(
        checks,
        catalogue[_COUNTED],
        SentTable([TableRow(row_id, A)], counted=True),
        StoredRows(Counter({None: 1})),
        StoredRows(Counter({None: 1})),
    )
    assert broken(checks) == [(ViolationKind.LOST, 2)]
