"""A batch as its plan describes it: steps over many workbooks and listings."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xlbridge.export.filters import Filters
from xlbridge.upload.plan import WantedMode
from xlbridge.validation.reading import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A part of a batch. ``after`` names the steps that must be done before it.

    ``profile`` is the environment that it is for; None is the one that the command is for.
    """

    name: str
    after: tuple[str, ...] = ()
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class Sending:
    """How the workbooks of a step are sent; ``chunk_rows`` splits the larger ones."""

    mode: WantedMode = "auto"
    chunk_rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbookStep(Step):
    """Workbooks that are judged, and sent where ``sending`` says how.

    ``patterns`` are relative to the plan's folder. ``links`` maps a column that refers to another
    resource to the column by which its cells name the record there.
    """

    patterns: tuple[str, ...]
    resource: str | None = None
    sheet: str | None = None
    reading: Reading = field(default_factory=Reading)
    links: Mapping[str, str] = field(default_factory=dict)
    sending: Sending | None = None
    may_be_empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportStep(Step):
    """A listing that is written into ``output``, relative to the plan's folder."""

    listing: str
    output: str
    filters: Filters = field(default_factory=Filters)
    flat: str | None = None
    as_template: str | None = None
    manifest: str | None = None


AnyStep = WorkbookStep | ExportStep


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch: its ``steps`` in the order in which they are done.

    ``parameters`` are the values that were put into the plan's texts. ``proof`` is where the
    closing proof goes, without extension, relative to the plan's folder.
    """

    path: Path
    name: str
    parameters: Mapping[str, str]
    steps: tuple[AnyStep, ...]
    proof: str

    @property
    def folder(self) -> Path:
        """The folder that the plan's paths start from."""
        return self.path.parent

    def written(self) -> Iterator[tuple[tuple[str, ...], Path]]:
        """Yield the files that the batch writes, each after the place in the plan that says so."""
        for step in self.steps:
            if isinstance(step, ExportStep):
                yield ("steps", step.name, "output"), self.file(step.output)
                if step.manifest is not None:
                    yield ("steps", step.name, "manifest"), self.file(step.manifest)
        for ending in (".xlsx", ".html", "-findings.html"):
            yield ("proof",), self.file(self.proof + ending)

    def file(self, path: str) -> Path:
        """Return where a path of the plan leads, written in one way only."""
        return Path(os.path.normpath(self.folder / path))

    @property
    def batch(self) -> str:
        """The name of this batch: the plan's with the parameters' values."""
        return "-".join([self.name, *self.parameters.values()])
