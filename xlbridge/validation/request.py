"""Requests to validate files, with the findings that a person accepts: "this is right", as ``CODE``
or ``CODE:COLUMN``; and progress. Plain data, importable without pandas and pandera.

Only warnings can be accepted, and errors that are a guess about a value that can be read. What was
accepted for a sheet is remembered by its resource and header, so that the next month's sheet
needs no option; reports always say what was accepted, and in how many cells.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.errors import UsageError, suggestion
from xlbridge.files import write_private
from xlbridge.i18n import Text
from xlbridge.settings import ParseOptions, WorkbookLimits

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping
    from xlbridge.validation.results import ValidatedSheet

NONE = "none"
"""Word in place of a finding: what was remembered is not accepted, and is forgotten."""


@dataclass(frozen=True, slots=True)
class AcceptedFindings:
    """Findings that are accepted: ``declared`` for this run, ``remembered`` from earlier ones, by
    the key of their sheet."""

    declared: tuple[str, ...] = ()
    remembered: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, declared: Iterable[str], folder: Path) -> "AcceptedFindings":
        """Return what is declared, with what ``folder`` remembers.

        Raises ``UsageError`` if a text names no finding that can be accepted.
        """
        texts = tuple(dict.fromkeys(text.strip() for text in declared))
        for text in texts:
            if text != NONE and (mistake := cls.mistake_in(text)):
                raise mistake
        remembered = {path.stem: _remembered(path) for path in sorted(folder.glob("*.yaml"))}
        return cls(texts, remembered)

    @staticmethod
    def mistake_in(text: str) -> UsageError | None:
        """Return the error if a text names no finding that can be accepted, else None."""
        # Late: most runs accept nothing, and requests are imported at every start.
        from xlbridge.resources.checks import CATALOGUE

        code = text.partition(":")[0]
        kind = CATALOGUE.get(code)
        if kind is None:
            message = Text(
                pt="{text!r}: não há o achado {code!r}; escreva CÓDIGO ou CÓDIGO:COLUNA.",
                en="{text!r}: there is no finding {code!r}; write CODE or CODE:COLUMN.",
            )
            return UsageError(message.format(text=text, code=code), suggestion(code, CATALOGUE))
        if not kind.acceptable:
            return UsageError(
                Text(
                    pt="{code} não pode ser aceito: sem correção a célula não tem valor que sirva.",
                    en="{code} cannot be accepted: uncorrected, the cell has no value that fits.",
                ).format(code=code),
                Text(
                    pt="Podem ser aceitos os avisos, e destes erros: {codes}.",
                    en="What can be accepted: warnings, and of the errors: {codes}.",
                ).format(codes=", ".join(code for code, one in CATALOGUE.items() if one.is_guess)),
            )
        return None

    def in_sheet(
        self, key: str, columns: Mapping[str, str], mapped: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Return the texts for the sheet with a key; ``columns`` has the names of the resource's
        columns by those that a person may write, ``mapped`` are the texts of its mapping."""
        from xlbridge.resources import normalize_header

        remembered = () if NONE in self.declared else self.remembered.get(key, ())
        declared = [text for text in (*self.declared, *mapped) if text != NONE]
        found = dict[str, None]()
        for text in (*declared, *remembered):
            code, _, column = text.partition(":")
            name = columns.get(normalize_header(column), column)
            found[f"{code}:{name}" if column else code] = None
        return tuple(found)

    def remember(self, folder: Path, sheets: Iterable["ValidatedSheet"]) -> None:
        """Store what was declared and occurred in each sheet, for the next one with its header.

        Raises ``UsageError`` if it cannot be written.
        """
        for sheet in sheets if self.declared else ():
            path = folder / f"{sheet.acceptance_key}.yaml"
            earlier = () if NONE in self.declared else self.remembered.get(path.stem, ())
            used = [
                text
                for text in sheet.accepted_texts
                if any(text in (code, f"{code}:{column}") for code, column in sheet.accepted)
            ]
            texts = list(dict.fromkeys([*earlier, *used]))
            if texts:
                lines = [f"resource: {sheet.resource_name}", "accept:", *(f"- {t}" for t in texts)]
                write_private(path, "\n".join(["version: 1", *lines]) + "\n")
            elif path.exists():
                path.unlink()


def _remembered(path: Path) -> Sequence[str]:
    """Return the texts of a stored file, none if it is damaged."""
    from xlbridge.resources.yaml_files import Mistake, read_document

    with suppress(OSError, UsageError):
        document = read_document(path, dates=False)
        content: Any = None if isinstance(document, Mistake) else document.content
        listed = content.get("accept") if isinstance(content, Mapping) else None
        if isinstance(listed, list):
            return [t for t in map(str, listed) if AcceptedFindings.mistake_in(t) is None]
    return ()


_DEFAULT_OPTIONS = ParseOptions()
_NOTHING_ACCEPTED = AcceptedFindings()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRequest:
    """A file to validate, with its ``resource`` and ``sheet``, None to detect them.

    ``all_sheets`` selects every sheet with data for a resource, and excludes ``sheet``.
    ``mapping`` maps a sheet with its own header. ``links``: columns whose cells identify records
    by other values than their codes (``xlbridge.resources.links.Links``). ``accepted``:
    findings that a person accepts.
    """

    file: Path
    resource: str | None = None
    sheet: str | None = None
    all_sheets: bool = False
    reading: ParseOptions = _DEFAULT_OPTIONS
    mapping: "SheetMapping | None" = None
    links: Mapping[str, str] = field(default_factory=dict)
    accepted: AcceptedFindings = _NOTHING_ACCEPTED

    def limits(self, limits: WorkbookLimits) -> WorkbookLimits:
        """Return limits with the headers of the mapping, for reading the file."""
        return limits if self.mapping is None else limits.with_headers([self.mapping])

    @property
    def all_links(self) -> Mapping[str, str]:
        """Linked columns of the mapping and of the request."""
        return {**(self.mapping.links if self.mapping else {}), **self.links}


@dataclass(frozen=True, slots=True)
class ColumnProgress:
    """Next column of a sheet: its name, its number out of ``count``, and the number of rows."""

    name: str
    number: int
    count: int
    rows: int


OnColumn = Callable[[ColumnProgress], None]
"""Callback that is called for each column before it is typed."""
