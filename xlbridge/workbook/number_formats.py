"""Which of a workbook's cell styles show a number as something else than it is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

_BUILT_IN_PERCENT = frozenset({"9", "10"})
_QUOTED = re.compile(r'"[^"]*"|\\.')
_ZEROS = re.compile(r"0{2,}")


@dataclass(frozen=True, slots=True)
class TellingStyles:
    """The indexes of the styles that show a number as something else than it is.

    ``percent`` show a percentage; ``padding`` show leading zeros, to so many digits.
    """

    percent: frozenset[int] = frozenset()
    padding: Mapping[int, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.percent or self.padding)


def telling_styles(root: ET.Element) -> TellingStyles:
    """Return the telling styles of ``xl/styles.xml``."""
    formats = list(enumerate(_formats(root)))
    return TellingStyles(
        percent=frozenset(
            index
            for index, (identity, code) in formats
            if identity in _BUILT_IN_PERCENT or "%" in _QUOTED.sub("", code)
        ),
        padding={index: len(code) for index, (_, code) in formats if _ZEROS.fullmatch(code)},
    )


def _formats(root: ET.Element) -> list[tuple[str, str]]:
    """Return the number format of each cell style: its identity and its code."""
    codes = {
        element.get("numFmtId", ""): element.get("formatCode", "")
        for element in root.iter()
        if _name(element) == "numFmt"
    }
    styles = next((element for element in root if _name(element) == "cellXfs"), ())
    identities = [style.get("numFmtId", "0") for style in styles]
    return [(identity, codes.get(identity, "")) for identity in identities]


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]
