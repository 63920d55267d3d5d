"""All cases by group, and the table of their outcomes."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cell_cases import cell_cases
from export_cases import evaluate_exports
from file_cases import evaluate_files
from kind_cases import evaluate_kinds
from libreoffice_cases import evaluate_libreoffice
from round_trips import evaluate_round_trips
from rule_cases import evaluate_rules
from structure_cases import evaluate_structures
from truth import Outcome, Outcomes, evaluate
from xml_cases import evaluate_xml

GROUPS: Mapping[str, Callable[[Path, int], Outcomes]] = {
    "cell": lambda folder, every: evaluate(cell_cases(), folder, every),
    "structure": evaluate_structures,
    "rules": evaluate_rules,
    "raw XML": evaluate_xml,
    "file": evaluate_files,
    "kind": partial(evaluate_kinds, by_libreoffice=False),
    "kind, LibreOffice": partial(evaluate_kinds, by_libreoffice=True),
    "LibreOffice": lambda folder, _every: evaluate_libreoffice(folder),
    "round trip": evaluate_round_trips,
    "export": lambda folder, _every: evaluate_exports(folder),
}
"""Functions that evaluate each group in a folder."""


def evaluate_group(group: str, every: int = 1) -> Outcomes:
    """Evaluate a group; of cases with their own workbook, only each ``every``-th."""
    with TemporaryDirectory(prefix="xlbridge-truth-") as folder:
        return GROUPS[group](Path(folder), every)


def table(outcomes: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield the lines of the table: each group with its counts, then all of them."""
    yield f"{'group':<18}" + "".join(f"{kind:>10}" for kind in (*Outcome, "cases"))
    total: Counter[str] = Counter()
    for group, group_outcomes in outcomes.items():
        counts = Counter(group_outcomes.values())
        total.update(counts)
        yield _line(group, counts)
    yield _line("all", total)


def _line(group: str, counts: Mapping[str, int]) -> str:
    numbers = [counts.get(kind, 0) for kind in Outcome]
    return f"{group:<18}" + "".join(f"{number:>10}" for number in (*numbers, sum(numbers)))
