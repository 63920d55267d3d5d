"""The workbooks of a batch held against one another and against the remote system."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from xlbridge.batch.kept import KeptSheet, keep, seen_from
from xlbridge.batch.referring import Referring, Unsettled
from xlbridge.batch.same_rows import same_rows
from xlbridge.findings import Finding
from xlbridge.online.references import Registries
from xlbridge.resources.resource import Resource
from xlbridge.validation.together import judge_together
from xlbridge.validation.validate import ValidatedSheet

SheetFindings = Mapping[tuple[Path, str], list[Finding]]
"""The findings of each sheet, by its file and its name."""


class Across:
    """Gathers the sheets of a batch, then says what no single one of them shows.

    ``steps`` are the names of the batch's steps in the order in which they are done; texts name
    files as seen from ``folder``. Without ``registries`` the remote system is not asked. What is
    kept of a sheet are its keys, about a hundred bytes for each row.
    """

    def __init__(
        self, steps: Sequence[str], folder: Path, registries: Registries | None = None
    ) -> None:
        self._turns = {name: turn for turn, name in enumerate(steps)}
        self._folder = folder
        self._registries = registries
        self._kept: list[KeptSheet] = []
        self._unsettled: list[Unsettled] = []

    def add(self, step: str, sheet: ValidatedSheet) -> None:
        """Take a judged sheet that the step sends; it may be dropped then."""
        self._kept.append(keep(step, sheet, self._folder))

    def add_unsettled(self, file: Path, resource: Resource | None) -> None:
        """Take note of a workbook that could not be read, or whose rows are sent and not all in the
        system yet, and of its resource, if known.

        What it may bring is not said to be missing.
        """
        self._unsettled.append(Unsettled(seen_from(self._folder, file), resource))

    def findings(self) -> SheetFindings:
        """Return what is found of each sheet, none where nothing is.

        Of two that repeat each other the later one has the finding: in the order of the steps,
        then of the files, then of the sheets as they were added. Raises what ``Client.records``
        raises.
        """
        kept = sorted(self._kept, key=lambda each: (self._turns[each.step], each.file))
        repeated = judge_together([each.sheet for each in kept])
        found = [list(findings) for findings in repeated]
        sheets = [
            replace(each.sheet, findings=[*each.sheet.findings, *findings])
            for each, findings in zip(kept, repeated, strict=True)
        ]
        broken = [each.sheet for each in kept if not each.sheet.readable]
        unread = (Unsettled(sheet.file, sheet.resource) for sheet in broken)
        referring = Referring(sheets, [*self._unsettled, *unread], self._registries)
        for findings, sheet in zip(found, sheets, strict=True):
            findings += referring.findings(sheet)
        for number, finding in same_rows(sheets, [each.digests for each in kept]):
            found[number].append(finding)
        by_sheet: defaultdict[tuple[Path, str], list[Finding]] = defaultdict(list)
        for each, findings in zip(kept, found, strict=True):
            by_sheet[each.file, each.sheet.sheet] += findings
        return by_sheet
