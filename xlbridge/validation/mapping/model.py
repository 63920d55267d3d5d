"""A mapping as plain data: which columns of a foreign sheet give which columns of a resource."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.yaml_files import Mistake, format_mistakes
from xlbridge.validation.headers.header_matching import normalise_header
from xlbridge.validation.request import NumberStyle

Scalar = str | int | float | bool | None
DocumentKind = Literal["cpf", "cnpj"]
TO_FILL_IN = "?"
"""Stands in a proposal for a value that only a person knows; no file with it is applied."""
DOCUMENT_KINDS: tuple[DocumentKind, ...] = ("cpf", "cnpj")


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedColumn:
    """A column of the resource, and where its values come from.

    Either ``source`` (one header), or ``join`` (several, with ``separator`` between their texts),
    or ``constant``. ``values`` turns the texts of the cells into the resource's own, ``numbers``
    tells how text numbers are written, ``when`` takes the documents of one kind only, ``link``
    names the registry in whose records the values are looked up. ``line`` is that of the file.
    """

    name: str
    line: int = 1
    source: str | None = None
    join: tuple[str, ...] = ()
    separator: str = " "
    constant: Scalar = None
    values: Mapping[str, Scalar] | None = None
    value_lines: Mapping[str, int] = field(default_factory=dict)
    numbers: NumberStyle | None = None
    when: DocumentKind | None = None
    link: str | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The headers that the column is made from; none for a constant."""
        return self.join if self.source is None else (self.source,)

    @property
    def body(self) -> Mapping[str, object]:
        """The column as the mapping file has it."""
        if self.join:
            return {"join": list(self.join), "with": self.separator}
        if self.source is None:
            return {"constant": self.constant}
        given = {"values": self.values, "numbers": self.numbers, "when": self.when}
        stated = {**given, "link": self.link}
        return {"from": self.source} | {key: it for key, it in stated.items() if it is not None}

    @property
    def is_direct(self) -> bool:
        """Whether the cells are taken as they stand."""
        return self.source is not None and self.values is None and self.when is None


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetMapping:
    """Mapping of a sheet whose header is ``header`` to a resource, as it was read from ``path``."""

    path: Path
    resource: str
    header: tuple[str, ...]
    columns: tuple[MappedColumn, ...]
    ignore: tuple[str, ...] = ()
    resource_line: int = 1

    @property
    def links(self) -> Mapping[str, str]:
        """The columns whose cells name records, each with the registry of the records."""
        return {column.name: column.link for column in self.columns if column.link is not None}

    def error(self, mistakes: Sequence[Mistake]) -> UsageError:
        """Return the error that the file is mistaken, naming each line."""
        return mapping_error(self.path, mistakes)


def mapping_error(path: Path, mistakes: Sequence[Mistake]) -> UsageError:
    """Return the error that a mapping file is mistaken, naming each line."""
    each_once = dict.fromkeys(sorted(mistakes, key=lambda m: (m.line, m.place, m.what.en)))
    return UsageError(
        format_mistakes(path, list(each_once)),
        Text(
            pt="O que cabe num mapeamento: xlbridge map --json-schema; um novo: "
            "xlbridge map ARQUIVO",
            en="What a mapping may hold: xlbridge map --json-schema; a new one: xlbridge map FILE",
        ),
    )


def header_key(header: str) -> str:
    """Return a header as headers are compared: without case, accents, and what is not seen."""
    return normalise_header(header)
