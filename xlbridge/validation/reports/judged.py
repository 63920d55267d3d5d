"""What every form of the report is made from."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from xlbridge.errors import WorkbookRefused, XlbridgeError
from xlbridge.findings import Finding, Severity
from xlbridge.i18n import Text
from xlbridge.validation.sheet_findings import alike
from xlbridge.validation.validate import ValidatedSheet
from xlbridge.workbook.address import column_index


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that could not be judged at all, and why."""

    file: Path
    refusal: XlbridgeError

    @property
    def code(self) -> str:
        """The stable code of why: the refused workbook's own, else ``unusable``."""
        return self.refusal.code if isinstance(self.refusal, WorkbookRefused) else "unusable"


@dataclass(frozen=True, slots=True)
class SkippedSheet:
    """A sheet that was looked at and is for no resource."""

    file: Path
    sheet: str

    @property
    def note(self) -> Text:
        """Say so."""
        return Text(
            pt="planilha {sheet} não conferida: não serve para nenhum recurso",
            en="sheet {sheet} not checked: it fits no resource",
        ).format(sheet=self.sheet)


Judged = ValidatedSheet | RefusedFile | SkippedSheet


def is_good(item: Judged) -> bool:
    """Whether nothing stands against what was looked at."""
    return isinstance(item, SkippedSheet) or (isinstance(item, ValidatedSheet) and item.ok)


Rule = tuple[str | None, str]
"""A column, None for the layout as a whole, and the code of what is found there."""


_POOLED = frozenset({"column-unknown", "column-unnamed"})
"""The findings that are one group whatever their column: there may be thousands."""


def by_rule(findings: Sequence[Finding]) -> dict[Rule, Sequence[Finding]]:
    """Group findings by ``rule_of``.

    Errors come before warnings, the layout before the cells, then the columns as they stand.
    """
    found: defaultdict[Rule, list[Sequence[Finding]]] = defaultdict(list)
    for group in alike(findings):
        found[rule_of(group[0])].append(group)
    groups = {
        rule: same[0] if len(same) == 1 else list(chain.from_iterable(same))
        for rule, same in found.items()
    }
    return dict(sorted(groups.items(), key=lambda entry: _place(entry[1][0])))


def rule_of(finding: Finding) -> Rule:
    """Return the group that a finding belongs to."""
    code = finding.kind.code
    return (None if code in _POOLED else finding.column), code


def _place(first: Finding) -> tuple[bool, int, str, str]:
    column, code = rule_of(first)
    letters = (first.cell or "").rstrip("0123456789") if column else ""
    is_warning = first.kind.severity is Severity.WARNING
    return is_warning, column_index(letters), column or "", code
