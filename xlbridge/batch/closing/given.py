"""What a closing proof is made from: the steps of a batch, their files, their uploads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xlbridge.i18n import Text


@dataclass(frozen=True, slots=True)
class ProofTitle:
    """Which batch is proven: its name, the plan that describes it, and what that was run with."""

    batch: str
    plan: Path
    plan_sha256: str
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProofFile:
    """A workbook of a step.

    ``sha256`` is that of its content when it was read, ``rows_in_sheet`` how many rows it had
    then. ``job_ids`` are the uploads that sent it, of which parts and retries are found by
    themselves; ``not_sent_because`` is why there are none, or none yet for all rows.
    """

    path: Path
    sha256: str
    rows_in_sheet: int
    not_sent_because: Text | None = None
    job_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofStep:
    """A step that uploads workbooks."""

    name: str
    files: tuple[ProofFile, ...]


@dataclass(frozen=True, slots=True)
class ProofExport:
    """A step that exports a listing.

    ``manifest`` is that of the export, as ``export.result.manifest_of`` makes it; None where it
    was not done. ``problem`` says why it was not, or what became of its files since.
    """

    name: str
    listing: str
    output: Path
    sha256: str | None = None
    manifest: Mapping[str, Any] | None = None
    problem: Text | None = None
