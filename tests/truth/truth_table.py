"""All cases by group, and the table of what became of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from cell_cases import cell_cases
from export_cases import judge_exports
from libreoffice_cases import judge_libreoffice
from round_trips import judge_round_trips
from structure_cases import judge_structures
from truth import Outcome, Outcomes, judge
from xml_cases import judge_xml

GROUPS: Mapping[str, Callable[[Path, int], Outcomes]] = {
    "cell": lambda folder, every: judge(cell_cases(), folder, every),
    "structure": judge_structures,
    "raw XML": judge_xml,
    "LibreOffice": lambda folder, _every: judge_libreoffice(folder),
    "round trip": judge_round_trips,
    "export": lambda folder, _every: judge_exports(folder),
}
"""What judges each group, in a folder of its own."""


def judge_group(group: str, every: int = 1) -> Outcomes:
    """Judge a group; of what needs a workbook of its own, each ``every``-th."""
    with TemporaryDirectory(prefix="xlbridge-truth-") as folder:
        return GROUPS[group](Path(folder), every)


def table(outcomes: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield the lines of the table: each group with its counts, then all of them."""
    yield f"{'group':<14}" + "".join(f"{kind:>8}" for kind in (*Outcome, "cases"))
    every: Counter[str] = Counter()
    for group, of_group in outcomes.items():
        counts = Counter(of_group.values())
        every.update(counts)
        yield _line(group, counts)
    yield _line("all", every)


def _line(group: str, counts: Mapping[str, int]) -> str:
    numbers = [counts.get(kind, 0) for kind in Outcome]
    return f"{group:<14}" + "".join(f"{number:>8}" for number in (*numbers, sum(numbers)))
