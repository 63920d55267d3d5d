"""The number formats of a workbook's cell styles, and which show a number as another one."""

import re
from collections.abc import Mapping
from xml.etree import ElementTree as ET

BUILT_IN: Mapping[int, str] = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00",
    5: "$#,##0;($#,##0)", 6: "$#,##0;($#,##0)", 7: "$#,##0.00;($#,##0.00)",
    8: "$#,##0.00;($#,##0.00)", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    41: "#,##0;(#,##0)", 42: "$#,##0;($#,##0)", 43: "#,##0.00;(#,##0.00)",
    44: "$#,##0.00;($#,##0.00)", 48: "##0.0E+0", 49: "@",
}  # fmt: skip
"""The formats that a file names by a number alone; that of each other such number is a date's or a
time's."""

_MOMENT = "dd/mm/yyyy"
_PLAIN = frozenset({"General", "@", "0", "#"})
_LONGEST = 255
_LITERAL = re.compile(r'"[^"]*"|\\.|[_*].|\[(?![hmsHMS]+\])[^\]]*\]', re.DOTALL)
_MOMENT_LETTERS = re.compile(r"[dmyhs]", re.IGNORECASE)
_SCALING = re.compile(r"(?<=[0#?])(,+)(?![0#?,])")


def number_formats(root: ET.Element) -> dict[int, str]:
    """Return the formats of the cell styles of ``xl/styles.xml`` that may show a number as more
    than its digits.

    One that is longer than Excel allows is left out, and so are those that make a date of it.
    """
    codes = {
        element.get("numFmtId", ""): element.get("formatCode", "")
        for element in root.iter()
        if _name(element) == "numFmt"
    }
    styles = next((element for element in root if _name(element) == "cellXfs"), ())
    identities = (style.get("numFmtId", "0") for style in styles)
    formats = (format_of(identity, codes.get(identity, "")) for identity in identities)
    return {
        style: code
        for style, code in enumerate(formats)
        if code not in _PLAIN and len(code) <= _LONGEST and not shows_moment(code)
    }


def format_of(identity: str, own: str) -> str:
    """Return the code of the format with that id; ``own`` is what the file itself says of it."""
    return own or (BUILT_IN.get(int(identity), _MOMENT) if identity.isdecimal() else BUILT_IN[0])


def shows_moment(code: str) -> bool:
    """Whether a format shows a number as a date or a time."""
    bare = _LITERAL.sub("", code).replace("General", "")
    return _MOMENT_LETTERS.search(bare) is not None


def factor(code: str) -> float:
    """Return how many times what is stored a format shows: 100 for a percentage, else mostly 1."""
    bare = _LITERAL.sub("", code)
    scaling = _SCALING.search(bare.partition(";")[0])
    shown = 100.0 if "%" in bare else 1.0
    return shown / 1000 ** len(scaling[1]) if scaling else shown


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]
