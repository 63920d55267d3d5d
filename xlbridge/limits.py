"""How much of a workbook is read before it is refused."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text

_MB = 2**20
_COUNT = re.compile("[1-9][0-9]{0,8}", re.ASCII)


def _limit(default: int, variable: str, unit: int = 1) -> Any:
    """A limit of ``default`` units; the environment's ``variable`` gives another, in units."""
    return field(default=default * unit, metadata={"variable": variable, "unit": unit})


@dataclass(frozen=True, slots=True)
class WorkbookLimits:
    """The limits of a workbook, each with the variable that sets it. Sizes are in bytes.

    ``file_size`` is that of the file, ``part_size`` that of one unpacked part, ``total_size`` that
    of all; ``entries`` is how many parts there may be. What unpacks to more than ``ratio_from`` may
    not be packed more than ``ratio`` times. ``cells`` is the area that the filled cells of all
    sheets span; ``text_length`` is the longest text in characters, ``text_size`` all cells' texts,
    and ``text_per_row`` what they may have besides for each filled row.
    A parsing process gets ``memory`` of address space, and ``seconds`` of processor time with one
    more for each ``size_per_second`` of unpacked content.
    """

    file_size: int = _limit(100, "XLBRIDGE_MAX_FILE_MB", _MB)
    entries: int = _limit(1_000, "XLBRIDGE_MAX_PARTS")
    part_size: int = _limit(768, "XLBRIDGE_MAX_PART_MB", _MB)
    total_size: int = _limit(1_024, "XLBRIDGE_MAX_CONTENT_MB", _MB)
    ratio: int = _limit(200, "XLBRIDGE_MAX_RATIO")
    ratio_from: int = _limit(100, "XLBRIDGE_RATIO_FROM_MB", _MB)
    cells: int = _limit(20_000_000, "XLBRIDGE_MAX_CELLS")
    text_length: int = _limit(32_767, "XLBRIDGE_MAX_TEXT")
    text_size: int = _limit(128, "XLBRIDGE_MAX_TEXTS_MB", _MB)
    text_per_row: int = _limit(512, "XLBRIDGE_TEXT_PER_ROW")
    memory: int = _limit(2_048, "XLBRIDGE_MAX_MEMORY_MB", _MB)
    seconds: int = _limit(5, "XLBRIDGE_MAX_SECONDS")
    size_per_second: int = _limit(10, "XLBRIDGE_MB_PER_SECOND", _MB)

    def seconds_for(self, size: int) -> int:
        """Return the processor time that parsing ``size`` bytes of unpacked content may take."""
        return self.seconds + size // self.size_per_second


def read_limits(environment: Mapping[str, str]) -> WorkbookLimits:
    """Read the limits from environment variables.

    Raises ``ConfigError`` when one is not a whole number over zero.
    """
    given = {}
    for limit in fields(WorkbookLimits):
        variable = limit.metadata["variable"]
        if text := environment.get(variable):
            given[limit.name] = _positive(variable, text) * limit.metadata["unit"]
    return WorkbookLimits(**given)


def _positive(variable: str, text: str) -> int:
    if not _COUNT.fullmatch(text):
        raise ConfigError(
            Text(
                pt="{name} deve ser um número inteiro maior que zero; não {text!r}.",
                en="{name} must be a whole number over zero; not {text!r}.",
            ).format(name=variable, text=text)
        )
    return int(text)
