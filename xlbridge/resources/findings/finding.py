"""Kinds of findings (entries of the catalogue) and findings: occurrences of them in the data.

A finding is returned, never raised. Its code is stable and English; its message and hint exist in
both languages and are rendered when they are displayed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from string import Formatter

from xlbridge.i18n import Text, localized_number

CorrectedValue = str | Decimal | date
"""Value that a cell holds once it is corrected."""


class Severity(StrEnum):
    """Severity of a finding: an error stops an upload, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


SEVERITY_WORDS: Mapping[Severity, Text] = {
    Severity.ERROR: Text(pt="Erro", en="Error"),
    Severity.WARNING: Text(pt="Aviso", en="Warning"),
}
"""Names of the severities in reports."""


_SEVERAL_CELLS = Text(
    pt="{cells} células da coluna, a partir desta: {message}",
    en="{cells} cells of the column, from this one down: {message}",
)


@dataclass(frozen=True, slots=True)
class FindingKind:
    """Entry of the catalogue of findings.

    ``message`` and ``hint`` may hold placeholders, filled from a finding's ``details``.
    """

    code: str
    severity: Severity
    message: Text
    hint: Text

    def summary(self, known: Mapping[str, object]) -> Text:
        """Return the message with an ellipsis for each placeholder that is not known."""
        names = (name for _, name, _, _ in Formatter().parse(self.message.en) if name)
        message = self.message.format(**{name: known.get(name, "…") for name in names})
        return Text(pt=message.pt.replace("….", "…"), en=message.en.replace("….", "…"))


@dataclass(frozen=True, slots=True)
class Finding:
    """Fault of the data, and its place.

    ``row`` and ``cell`` are the address in the analyst's own sheet, counted as Excel counts; both
    are None where the finding concerns no single place. ``header`` is the sheet's own name of the
    column, None where it is the resource's. ``value`` is the cell's content as text,
    that of a ``numeric`` cell with a point; ``corrected`` is the right value, None where it is not
    certain. ``cells`` is above one where reports tell it once for so many cells of the column.
    """

    kind: FindingKind
    row: int | None = None
    column: str | None = None
    cell: str | None = None
    value: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    corrected: CorrectedValue | None = None
    numeric: bool = False
    header: str | None = None
    cells: int = 1

    @property
    def column_label(self) -> str | None:
        """The column as the analyst knows it: under a mapping by the sheet's own header."""
        return self.column if self.header is None else f"{self.header} ({self.column})"

    @property
    def display_value(self) -> str | None:
        """The value as it is written in the active language."""
        return str(localized_number(self.value)) if self.numeric and self.value else self.value

    @property
    def message(self) -> Text:
        """The fault in words."""
        message = self.kind.message.format(**self.details)
        if self.cells == 1:
            return message
        return _SEVERAL_CELLS.format(cells=self.cells, message=message)

    @property
    def hint(self) -> Text:
        """The advice on how to correct it."""
        return self.kind.hint.format(**self.details)


def error(code: str, message: Text, hint: Text) -> FindingKind:
    """Return a kind of finding that stops an upload."""
    return FindingKind(code, Severity.ERROR, message, hint)


def warning(code: str, message: Text, hint: Text) -> FindingKind:
    """Return a kind of finding that does not stop an upload."""
    return FindingKind(code, Severity.WARNING, message, hint)
