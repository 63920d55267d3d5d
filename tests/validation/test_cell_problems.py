"""Problems of a column keep their details, however many there are.

Inside: validation.
"""

from decimal import Decimal

import numpy as np

from xlbridge.validation.sheet_findings import CellProblems, ProblemDetails


def details_of(problems: CellProblems, number: int) -> ProblemDetails:
    return problems.remarks[problems.details[number]]


def test_equal_details_are_stored_once() -> None:
    problems = CellProblems.none(4)
    problems.add(0, "number-as-text", {"read": "1,5"}, corrected=Decimal("1.5"))
    problems.add(1, "number-as-text", {"read": "1,5"}, corrected=Decimal("1.5"))
    problems.add(2, "number-as-text", {"read": "1,5"})
    problems.add_all(np.array([3]), "number-as-text", {"read": "1,5"})
    first, second, third, fourth = (details_of(problems, number) for number in range(4))
    assert first is second
    assert third is fourth
    assert (first.corrected, third.corrected) == (Decimal("1.5"), None)


def test_details_beyond_the_cache_stay_with_their_problems() -> None:
    count = 70_000
    problems = CellProblems.none(2 * count)
    for position in range(2 * count):
        problems.add(position, "number-as-text", {"read": str(position % count)})
    stored = [details_of(problems, number).details["read"] for number in range(2 * count)]
    assert stored == [str(position % count) for position in range(2 * count)]


def test_filtered_problems_keep_their_details() -> None:
    problems = CellProblems.none(3)
    for position, read in enumerate("abc"):
        problems.add(position, "number-as-text", {"read": read}, corrected=read.upper())
    kept = problems.of_rows(np.array([True, False, True]))
    kept.add(1, "number-as-text", {"read": "d"})
    stored = [
        (details_of(kept, n).details["read"], details_of(kept, n).corrected) for n in range(3)
    ]
    assert stored == [("a", "A"), ("c", "C"), ("d", None)]
    assert list(kept.positions) == [0, 1, 1]
