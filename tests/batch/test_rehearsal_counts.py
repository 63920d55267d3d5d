"""Counts and violations of a table, for all outcomes of its sent rows.

Inside: batch.
"""

from collections import Counter
from collections.abc import Sequence

import pytest

from xlbridge.batch.proof.report_tables import Heading, Line, ReportTable
from xlbridge.batch.rehearsal.reconciliation import ExpectedRow, compare_tables
from xlbridge.batch.rehearsal.result import RowId, TableComparison, ViolationKind
from xlbridge.i18n import Text
from xlbridge.sandbox.rehearsal import RowDigest, StoredRows, table_title
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
    states = (
        StoredRows("t", Counter(form_of(letter, replaces=replaces) for letter in letters), replaces)
        for letters in (before, after)
    )
    earlier, later = states
    return compare_tables({"t": sent}, [earlier], [later])


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
    one, two = (
        StoredRows("receivables", Counter(rows)) for rows in ({}, {form_of("a", replaces=False): 2})
    )
    found = compare_tables({}, [one], [two])
    assert found.tables[0].table == "receivables"
    assert found.violations[0].message.pt == "contas a receber: 2 linhas a mais do que foi enviado"
    assert table_title("own_records:frota") == "frota"


def test_the_header_of_an_empty_column_of_reasons_is_left_aligned() -> None:
    headings = (
        Heading(Text(pt="Retidas", en="Held")),
        Heading(Text(pt="Motivo", en="Reason"), words=True),
    )
    none = Text(pt="Nenhuma.", en="None.")
    table = ReportTable(none, headings, [Line((1, None))], none)
    assert (table.is_numeric(0), table.is_numeric(1)) == (True, False)


def test_a_table_without_sent_rows_must_not_change() -> None:
    one, two = (
        StoredRows("t", Counter(form_of(c, replaces=False) for c in text)) for text in ("x", "xy")
    )
    assert [b.kind for b in compare_tables({}, [one], [two]).violations] == [ViolationKind.TWICE]
    assert compare_tables({}, [one], [one]) == TableComparison()
