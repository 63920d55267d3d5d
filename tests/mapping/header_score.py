"""Score of the proposals for forty foreign header rows and ten later ones; ``python
tests/mapping/header_score.py`` prints it.

A header is right if exactly the columns that a person wrote down for it are proposed.
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from xlbridge.errors import UsageError
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation.mapping import MappingProposal, propose_mapping

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

from sheets import write_rows  # noqa: E402 - found by the path set above

Proposed = tuple[dict[str, Any], MappingProposal]
"""A sheet of a headers file, and its proposal."""

HALVES = {
    "known": HERE / "headers_known.yaml",
    "set aside": HERE / "headers_set_aside.yaml",
    "later": HERE / "headers_later.yaml",
}


@dataclass(frozen=True)
class HeaderScore:
    """One header: expected columns, proposed columns, and those with high confidence."""

    what: str
    header: str
    expected: frozenset[str]
    proposed: frozenset[str]
    sure: frozenset[str]

    @property
    def right(self) -> bool:
        return self.expected == self.proposed

    @property
    def surely_wrong(self) -> frozenset[str]:
        """Wrong columns that were proposed with high confidence."""
        return self.sure - self.expected


def proposals(half: Path, catalogue: Catalogue) -> Iterator[Proposed]:
    """Yield each sheet of a half with the proposal for its resource."""
    with tempfile.TemporaryDirectory() as folder:
        for number, sheet in enumerate(yaml.safe_load(half.read_text("utf-8"))):
            header, *rows = sheet["rows"]
            path = write_rows(Path(folder) / f"{number}.xlsx", header, rows)
            yield (
                {**sheet, "path": path},
                propose_mapping(path, catalogue, WorkbookLimits(), resource=sheet["resource"]),
            )


def scores(proposed: Iterable[Proposed]) -> Iterator[HeaderScore]:
    """Yield the score of each header of the sheets."""
    for sheet, proposal in proposed:
        assert list(sheet["expect"]) == sheet["rows"][0], sheet["what"]
        for header, expected in sheet["expect"].items():
            wanted = [expected] if isinstance(expected, str) else expected or []
            proposed_columns = [c for c in proposal.columns if header in c.sources]
            sure = [c.name for c in proposed_columns if c.confidence == "high"]
            yield HeaderScore(
                sheet["what"],
                header,
                frozenset(wanted),
                frozenset(c.name for c in proposed_columns),
                frozenset(sure),
            )


def count_detected_resources(half: Path, catalogue: Catalogue) -> tuple[int, int, int]:
    """Count the sheets whose resource is detected correctly, incorrectly, and not at all."""
    right = wrong = undetected = 0
    for sheet, _ in proposals(half, catalogue):
        try:
            detected = propose_mapping(sheet["path"], catalogue, WorkbookLimits()).resource.name
        except UsageError:
            undetected += 1
        else:
            right, wrong = (
                right + (detected == sheet["resource"]),
                wrong + (detected != sheet["resource"]),
            )
    return right, wrong, undetected


def main() -> None:
    """Print the score of each half, and its mistakes."""
    catalogue = load_catalogue(HERE / "no-own-schemas")
    for name, half in HALVES.items():
        if name not in (sys.argv[1:] or HALVES):
            continue
        found = list(scores(proposals(half, catalogue)))
        right = sum(score.right for score in found)
        surely_wrong = sum(bool(score.surely_wrong) for score in found)
        share = 100 * right / len(found)
        print(f"{name}: {right} of {len(found)} headers right ({share:.1f} %)")
        print(f"  wrong with high confidence: {surely_wrong}")
        print(
            "  resource right, wrong, not detected: {}, {}, {}".format(
                *count_detected_resources(half, catalogue)
            )
        )
        for score in found:
            if not score.right:
                sure = " (high)" if score.surely_wrong else ""
                details = f"{sorted(score.proposed)}, expected {sorted(score.expected)}"
                print(f"    {score.what}: {score.header}: {details}{sure}")


if __name__ == "__main__":
    main()
