"""Links of columns to records, by other values than their codes.

Apart from ``reference_lists``, as every catalogue needs them, and few the interface's models.
"""

from dataclasses import dataclass
from pathlib import Path

from xlbridge.i18n import Text, untranslated
from xlbridge.resources.kind import Kind


@dataclass(frozen=True, slots=True)
class LinkName:
    """Column that identifies or names records, and its field in the listing."""

    column: str
    field: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Link:
    """Link of a column to records of a registry by other values than their codes.

    The cells hold the value of one of ``names``. ``is_loose``: of any of them, in any spelling;
    ``has_codes``: codes are accepted, too.
    """

    registry: str
    names: tuple[LinkName, ...]
    is_loose: bool = False
    has_codes: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the names in the registry's listing."""
        return tuple(dict.fromkeys(name.field for name in self.names))

    @property
    def by(self) -> Text:
        """Columns of the names, for messages."""
        *others, last = (name.column for name in self.names)
        if not others:
            return untranslated(last)
        columns = {"others": ", ".join(others), "last": last}
        return Text(pt="{others} ou {last}", en="{others} or {last}").format(**columns)


@dataclass(frozen=True, slots=True)
class SheetLink:
    """Link of a column to the records of another sheet: its cells hold values of ``column`` in
    ``file``, and are replaced by the codes that the system assigned to those records."""

    file: Path
    column: str
