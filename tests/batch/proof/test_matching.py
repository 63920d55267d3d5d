"""Matching of rows and records: no record is assigned twice, and tampering is detected.

Inside: batch.
"""

from collections.abc import Sequence
from random import Random

from hypothesis import given, strategies as st

from xlbridge.batch.proof_model import ReadBackStatus
from xlbridge.batch.proof_read_back import different_cells, match_rows
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload.lookup import FoundRecord, RowSnapshot

Cells = tuple[str | None, ...]
Sent = tuple[str, Cells]
COLUMNS = ("amount", "due", "history")

cells = st.tuples(*[st.sampled_from([None, "1", "2"])] * len(COLUMNS))
batches = st.lists(st.tuples(st.sampled_from("ab"), cells), min_size=1, max_size=8)


def readings(sent: Sequence[Sent], there: Sequence[tuple[str, str, Cells]]) -> list[RowSnapshot]:
    """Return the snapshots of rows in a system with the records ``there`` (code, key, cells)."""

    def found(key: str, row: Cells) -> tuple[FoundRecord, ...]:
        return tuple(
            FoundRecord(
                code,
                dict(zip(COLUMNS, record, strict=True)),
                all(value in (None, other) for value, other in zip(row, record, strict=True)),
            )
            for code, of_key, record in there
            if of_key == key
        )

    return [
        RowSnapshot({"key": key}, found(key, row), dict(zip(COLUMNS, row, strict=True)))
        for key, row in sent
    ]


def stored(sent: Sequence[Sent]) -> list[tuple[str, str, Cells]]:
    return [(f"R{number}", key, row) for number, (key, row) in enumerate(sent)]


def seen(sent: Sequence[Sent], there: Sequence[tuple[str, str, Cells]]) -> list[ReadBackStatus]:
    matches = match_rows(readings(sent, there), {}, ExistingPolicy.ADDED)
    codes = [m.record.code for m in matches if m.record]
    assert len(codes) == len({*codes})
    return [m.status for m in matches]


@given(batches, st.randoms())
def test_stored_rows_match_in_any_order(sent: list[Sent], order: Random) -> None:
    there = stored(sent)
    order.shuffle(there)
    assert seen(sent, there) == [ReadBackStatus.SAME] * len(sent)


@given(batches, st.data())
def test_one_record_less_is_one_row_missing(sent: list[Sent], data: st.DataObject) -> None:
    there = stored(sent)
    gone = data.draw(st.sampled_from(there))
    there.remove(gone)
    statuses = seen(sent, there)
    open_rows = [what for what in statuses if what is not ReadBackStatus.SAME]
    assert open_rows == [ReadBackStatus.MISSING]


@given(batches, st.data())
def test_one_record_more_is_one_row_doubled(sent: list[Sent], data: st.DataObject) -> None:
    copied = data.draw(st.sampled_from(stored(sent)))
    statuses = seen(sent, [*stored(sent), ("COPY", *copied[1:])])
    assert [what for what in statuses if what is not ReadBackStatus.SAME] == [
        ReadBackStatus.DOUBLED
    ]


@given(batches, st.data())
def test_one_cell_changed_is_that_cell_of_one_row(sent: list[Sent], data: st.DataObject) -> None:
    filled = [
        (at, c) for at, (_, row) in enumerate(sent) for c, v in enumerate(row) if v is not None
    ]
    if not filled:
        return
    at, column = data.draw(st.sampled_from(filled))
    there = stored(sent)
    code, key, row = there[at]
    there[at] = (code, key, (*row[:column], "changed", *row[column + 1 :]))
    rows = readings(sent, there)
    matches = match_rows(rows, {}, ExistingPolicy.ADDED)
    assert [m.status for m in matches if m.status is not ReadBackStatus.SAME] == [
        ReadBackStatus.DIFFERS
    ]
    (changed,) = [
        (r, m.record) for r, m in zip(rows, matches, strict=True) if m.status == "differs"
    ]
    assert changed[1] is not None
    assert list(different_cells(changed[0], changed[1])) == [COLUMNS[column]]


def test_earlier_records_are_not_assigned_if_rows_are_added() -> None:
    row: Sent = ("a", ("1", "1", "1"))
    there = [("OLD", *row), ("NEW", *row)]
    before = {"key=a": frozenset({"OLD"})}
    (match,) = match_rows(readings([row], there), before, ExistingPolicy.ADDED)
    assert (match.status, match.record and match.record.code) == (ReadBackStatus.SAME, "NEW")
    (alone,) = match_rows(readings([row], there[:1]), before, ExistingPolicy.ADDED)
    assert alone.status is ReadBackStatus.MISSING


def test_another_record_of_a_key_is_a_duplicate_only_if_the_system_refuses_one() -> None:
    row: Sent = ("a", ("1", "1", "1"))
    there = [("R1", *row), ("R2", "a", ("1", "1", "2"))]
    (added,) = match_rows(readings([row], there), {}, ExistingPolicy.ADDED)
    assert added.status is ReadBackStatus.SAME
    (refused,) = match_rows(readings([row], there), {}, ExistingPolicy.REFUSED)
    assert refused.status is ReadBackStatus.DOUBLED


def test_the_last_of_rows_that_replace_one_another_must_be_stored() -> None:
    sent: list[Sent] = [("a", ("1", "1", "1")), ("b", ("1", "1", "1")), ("a", ("2", "1", "1"))]
    there = [("A", *sent[2]), ("B", *sent[1])]
    matches = match_rows(readings(sent, there), {}, ExistingPolicy.REPLACED)
    assert [m.status for m in matches] == [
        ReadBackStatus.UNREAD,
        ReadBackStatus.SAME,
        ReadBackStatus.SAME,
    ]
    assert matches[0].replaced


@given(batches, batches, st.data())
def test_rows_in_doubt_are_matched_after_accepted_ones(
    accepted: list[Sent], lost: list[Sent], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(accepted) + len(lost))))
    both = [*accepted, *lost]
    sent = [both[place] for place in order]
    doubtful = {at for at, place in enumerate(order) if place >= len(accepted)}
    matches = match_rows(
        readings(sent, stored(accepted)), {}, ExistingPolicy.ADDED, dict.fromkeys(doubtful, 1)
    )
    statuses = [match.status for at, match in enumerate(matches) if at not in doubtful]
    assert statuses == [ReadBackStatus.SAME] * len(accepted)
    assert all(matches[at].status is ReadBackStatus.MISSING for at in doubtful)


def test_a_row_in_doubt_may_have_replaced_an_accepted_one() -> None:
    sent: list[Sent] = [("a", ("1", "1", "1")), ("a", ("2", "1", "1"))]
    lost = match_rows(readings(sent, [("A", *sent[0])]), {}, ExistingPolicy.REPLACED, {1: 1})
    assert [match.status for match in lost] == [ReadBackStatus.SAME, ReadBackStatus.MISSING]
    arrived = match_rows(readings(sent, [("A", *sent[1])]), {}, ExistingPolicy.REPLACED, {1: 1})
    assert [match.status for match in arrived] == [ReadBackStatus.UNREAD, ReadBackStatus.SAME]
