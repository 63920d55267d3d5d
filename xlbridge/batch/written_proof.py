"""A closing proof that was written, and what is told of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlbridge.batch.closing.proof import Proof
from xlbridge.batch.closing.verdict import open_items, verdict
from xlbridge.i18n import Text
from xlbridge.upload.report import near


@dataclass(frozen=True, slots=True)
class WrittenProof:
    """A proof and the files that it was written to."""

    proof: Proof
    workbook: Path
    page: Path

    @property
    def settled(self) -> bool:
        """Whether everything is accounted for."""
        return not any(open_items(self.proof))


def proof_json(written: WrittenProof) -> dict[str, Any]:
    """Return what a proof says, and where it is, as JSON."""
    return {
        "profile": written.proof.profile,
        "settled": written.settled,
        "verdict": str(verdict(written.proof)),
        "open": [str(item) for item in open_items(written.proof)],
        "workbook": str(written.workbook),
        "page": str(written.page),
    }


def proof_text(written: WrittenProof) -> Iterator[Text]:
    """Yield the lines that a person is told of a proof."""
    yield Text(pt="Prova de fechamento: {verdict}", en="Closing proof: {verdict}").format(
        verdict=verdict(written.proof)
    )
    for item in open_items(written.proof):
        yield Text(pt="  ✗ {item}", en="  ✗ {item}").format(item=item)
    for path in (written.workbook, written.page):
        yield Text(pt="  {path}", en="  {path}").format(path=near(path))
