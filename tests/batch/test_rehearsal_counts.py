"""Counts and violations of a table, for all outcomes of its sent rows.

Inside: batch.
"""

from collections.abc import Sequence

import pytest

from xlbridge.batch.rehearsal.result import RowId, TableComparison, ViolationKind
from xlbridge.batch.rehearsal.table_checks import ExpectedRow, compare_tables
from xlbridge.i18n import Text
from xlbridge.sandbox.rehearsal import RowDigest, StoredRows
from xlbridge.upload.results import RowOutcome

A, R, N, U = RowOutcome.ACCEPTED, RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNKNOWN


def counted(
    rows: Sequence[tuple[str, RowOutcome]], before: str, after: str, *, replaces: bool = False
) -> TableComparison:
    """Compare rows; each is one letter, whose case is not part of a replacing table's key."""
    sent = [
        ExpectedRow(RowId("step", "book.xlsx", number), fate, form_of(letter, replaces=replaces))
        for number, (letter, fate) in enumerate(rows, 2)
    ]
    earlier, later = (stored(letters, replaces=replaces) for letters in (before, after))
    return compare_tables({"t": sent}, [earlier], [later])


TITLE = Text(pt="contas a receber", en="receivable entries")


def stored(letters: str, *, replaces: bool = False) -> StoredRows:
    """Return a table with a row for each letter, numbered by its occurrence."""
    numbered = [f"{letter}{letters[:at].count(letter)}" for at, letter in enumerate(letters)]
    forms = (form_of(letter, replaces=replaces) for letter in letters)
    return StoredRows("t", TITLE, dict(zip(numbered, forms, strict=True)), replaces)


def form_of(letter: str, *, replaces: bool) -> RowDigest:
    return RowDigest((letter.lower() if replaces else letter).encode(), letter.encode())


def broken(found: TableComparison) -> list[tuple[ViolationKind, int | None]]:
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
    rows: list[tuple[str, RowOutcome]],
    before: str,
    after: str,
    expected: list[tuple[ViolationKind, int | None]],
) -> None:
    assert broken(counted(rows, before, after)) == expected


@pytest.mark.parametrize(
    ("rows", "before", "after", "expected"),
    [
        ([("a", A)], "x", "xa", []),
        ([("a", A)], "A", "a", []),
        ([("a", A), ("A", A)], "", "A", []),
        ([("a", A)], "", "", [(ViolationKind.LOST, 2)]),
        ([("a", A)], "A", "A", [(ViolationKind.LOST, 2)]),
        ([("a", R)], "A", "a", [(ViolationKind.WRONGLY_REFUSED, 2)]),
        ([("a", R)], "a", "a", []),
        ([("a", R), ("a", A)], "", "a", []),
        ([("a", U)], "", "", []),
        ([("a", A)], "", "ax", [(ViolationKind.TWICE, None)]),
        ([("a", A)], "x", "a", [(ViolationKind.LOST, None)]),
    ],
)
def test_breaches_of_a_table_in_which_rows_replace_others(
    rows: list[tuple[str, RowOutcome]],
    before: str,
    after: str,
    expected: list[tuple[ViolationKind, int | None]],
) -> None:
    assert broken(counted(rows, before, after, replaces=True)) == expected


@pytest.mark.parametrize("replaces", [False, True])
def test_rows_in_doubt_are_reported_and_looked_up(replaces: bool) -> None:
    found = counted([("a", U), ("b", U), ("c", A)], "", "bc", replaces=replaces)
    assert [(doubt.row_id.row, doubt.in_database) for doubt in found.doubts] == [
        (2, False),
        (3, True),
    ]
    (table,) = found.tables
    assert (table.before, table.after, table.expected) == (0, 2, 2)


def test_accepted_rows_that_existed_before_are_reported() -> None:
    found = counted([("a", A), ("b", A)], "a", "aab")
    assert (broken(found), [row_id.row for row_id in found.preexisting]) == ([], [2])


def test_tables_have_titles_in_the_readers_language() -> None:
    one, two = (stored(letters) for letters in ("", "aa"))
    found = compare_tables({}, [one], [two])
    assert (found.tables[0].table, found.tables[0].title) == ("t", TITLE)
    assert found.violations[0].message.pt == (
        "contas a receber: 2 linhas a mais do que foi enviado (números a0, a1)"
    )


def test_a_table_without_sent_rows_must_not_change() -> None:
    one, two = stored("x"), stored("xy")
    assert [b.kind for b in compare_tables({}, [one], [two]).violations] == [ViolationKind.TWICE]
    assert compare_tables({}, [one], [one]) == TableComparison()


def by_number(
    rows: Sequence[tuple[str | None, RowOutcome]],
    before: str,
    after: str,
    *,
    changed: Sequence[str] = (),
    derived: str = "",
) -> TableComparison:
    """Compare rows by the numbers of their records, one letter each, None if unknown."""
    sent = [
        ExpectedRow(
            RowId("step", "book.xlsx", row), outcome, number=number or "", changes=number in changed
        )
        for row, (number, outcome) in enumerate(rows, 2)
    ]
    earlier, later = (
        StoredRows("t", TITLE, dict.fromkeys(numbers), derived=frozenset(derived))
        for numbers in (before, after)
    )
    return compare_tables({"t": sent}, [earlier], [later])


@pytest.mark.parametrize(
    ("rows", "before", "after", "expected"),
    [
        ([("a", A), ("b", A)], "x", "xab", []),
        ([("a", A), ("b", A)], "x", "xa", [(ViolationKind.LOST, 3)]),
        ([("a", A), ("a", A)], "x", "xa", [(ViolationKind.LOST, 3)]),
        ([("x", A)], "x", "x", [(ViolationKind.LOST, 2)]),
        ([("a", A)], "x", "xab", [(ViolationKind.TWICE, None)]),
        ([("a", A), (None, R)], "", "ab", [(ViolationKind.TWICE, None)]),
        ([("a", A)], "x", "a", [(ViolationKind.LOST, None)]),
        ([(None, A), ("a", A)], "", "ab", []),
        ([(None, A), ("a", A)], "", "a", [(ViolationKind.LOST, 2)]),
        ([(None, U), ("a", A)], "", "ab", []),
        ([(None, U), ("a", A)], "", "a", []),
        ([(None, U), ("a", A)], "", "abc", [(ViolationKind.TWICE, None)]),
        ([("a", R)], "", "a", []),
    ],
)
def test_records_created_one_by_one_are_compared_by_their_numbers(
    rows: list[tuple[str | None, RowOutcome]],
    before: str,
    after: str,
    expected: list[tuple[ViolationKind, int | None]],
) -> None:
    assert broken(by_number(rows, before, after)) == expected


@pytest.mark.parametrize(("after", "in_database"), [("ab", False), ("abc", None), ("abcd", True)])
def test_of_doubtful_records_without_a_number_only_the_count_is_known(
    after: str, in_database: bool | None
) -> None:
    found = by_number([(None, U), (None, U), ("a", A), ("b", U)], "", after)
    assert {d.row_id.row: d.in_database for d in found.doubts} == {
        2: in_database, 3: in_database, 5: True
    }  # fmt: skip
    assert [table.expected for table in found.tables] == [len(after)]


def test_changed_and_derived_records_are_not_too_many() -> None:
    found = by_number([("x", A), ("a", A)], "xy", "xyabc", changed="x", derived="bc")
    assert broken(found) == []
    assert [table.expected for table in found.tables] == [3]
    gone = by_number([("x", A)], "xy", "y", changed="x")
    assert broken(gone) == [(ViolationKind.LOST, 2), (ViolationKind.LOST, None)]


def test_a_record_that_no_row_changes_must_stay_as_it_is() -> None:
    earlier, later = (
        StoredRows("t", TITLE, {"1": form_of(letter, replaces=False)}) for letter in ("a", "b")
    )
    found = compare_tables({}, [earlier], [later])
    assert broken(found) == [(ViolationKind.LOST, None)]
    assert "1 existing row has changed" in found.violations[0].message.en
    change = ExpectedRow(RowId("step", "book.xlsx", 2), A, number="1", changes=True)
    assert compare_tables({"t": [change]}, [earlier], [later]).violations == ()


def test_an_imported_record_may_be_changed_by_a_later_step() -> None:
    created = ExpectedRow(RowId("one", "book.xlsx", 2), A, form_of("a", replaces=False))
    change = ExpectedRow(RowId("two", "book.xlsx", 2), A, number="1", changes=True)
    later = StoredRows("t", TITLE, {"1": form_of("b", replaces=False)})
    found = compare_tables({"t": [created, change]}, [StoredRows("t", TITLE, {})], [later])
    assert found.violations == ()
    assert [table.expected for table in found.tables] == [1]
