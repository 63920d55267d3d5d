"""The lines of an uploaded workbook, as the importer takes them."""

from dataclasses import dataclass, field
from typing import Any

from xlbridge.sandbox.answers import Problem


@dataclass(slots=True)
class Line:
    """One line: its row as Excel counts it, its filled cells by column, what is wrong with it."""

    row: int
    record: dict[str, Any]
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class Sheet:
    """All lines of a sheet; ``layout`` are the problems that concern no single line."""

    lines: list[Line]
    layout: list[Problem]

    @property
    def failed(self) -> list[Line]:
        """The lines with problems."""
        return [line for line in self.lines if line.problems]
