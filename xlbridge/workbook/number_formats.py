"""Which of a workbook's cell styles show a number as something else than it is."""

import re
from collections.abc import Mapping
from xml.etree import ElementTree as ET

_BUILT_IN_PERCENT = frozenset({"9", "10"})
_QUOTED = re.compile(r'"[^"]*"|\\.')
_ZEROS = re.compile(r"0{2,}")


def percent_styles(root: ET.Element) -> frozenset[int]:
    """Return the indexes of the styles that show a number as a percentage."""
    return frozenset(
        index
        for index, (identity, code) in enumerate(_formats(root))
        if identity in _BUILT_IN_PERCENT or "%" in _QUOTED.sub("", code)
    )


def padding_styles(root: ET.Element) -> Mapping[int, int]:
    """Return the styles that show a number with leading zeros, and to how many digits."""
    return {
        index: len(code) for index, (_, code) in enumerate(_formats(root)) if _ZEROS.fullmatch(code)
    }


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
