"""A kind of finding (an entry of the catalogue) and one occurrence of it in the data.

A finding is returned, never raised. Its code is stable and English; its message and hint exist
in
both languages and are rendered when they are shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from string import Formatter

from xlbridge.i18n import Text, localized_number

CorrectedValue = str | Decimal | date
"""What a cell holds once it is put right."""


class Severity(StrEnum):
    """An error stops an upload; a warning is worth a look."""

    ERROR = "error"
    WARNING = "warning"


SEVERITY_WORDS: Mapping[Severity, Text] = {
    Severity.ERROR: Text(pt="Erro", en="Error"),
    Severity.WARNING: Text(pt="Aviso", en="Warning"),
}
"""What each severity is called in reports."""


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One entry of the catalogue.

    ``message`` and ``hint`` may hold placeholders, filled from a finding's ``details``.
    """

    code: str
    severity: Severity
    message: Text
    hint: Text

    @property
    def about(self) -> Text:
        """The message without what differs from finding to finding."""
        gaps = {name: "…" for _, name, _, _ in Formatter().parse(self.message.en) if name}
        told = self.message.format(**gaps)
        return Text(pt=told.pt.replace("….", "…"), en=told.en.replace("….", "…"))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong, and where.

    ``row`` and ``cell`` are the address in the analyst's own sheet, counted as Excel counts; both
    are None where the finding concerns no single place. ``value`` is the cell's content as text,
    that of a ``numeric`` cell with a point; ``corrected`` what the cell should hold instead, None
    where that is not certain.
    """

    kind: FindingKind
    row: int | None = None
    column: str | None = None
    cell: str | None = None
    value: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    corrected: CorrectedValue | None = None
    numeric: bool = False

    @property
    def shown(self) -> str | None:
        """The value as people write it, in the active language."""
        return str(localized_number(self.value)) if self.numeric and self.value else self.value

    @property
    def message(self) -> Text:
        """What is wrong."""
        return self.kind.message.format(**self.details)

    @property
    def hint(self) -> Text:
        """What to do about it."""
        return self.kind.hint.format(**self.details)


def error(code: str, message: Text, hint: Text) -> FindingKind:
    """Return an entry that stops an upload."""
    return FindingKind(code, Severity.ERROR, message, hint)


def warning(code: str, message: Text, hint: Text) -> FindingKind:
    """Return an entry that is worth a look."""
    return FindingKind(code, Severity.WARNING, message, hint)
