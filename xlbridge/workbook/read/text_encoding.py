"""Encoding of a .csv file: told by its bytes, or declared where they leave it open."""

import codecs
import re
from collections.abc import Mapping

from xlbridge.errors import WorkbookRefused
from xlbridge.i18n import Text
from xlbridge.workbook.read.refusals import csv_unclear, csv_unreadable

ENCODING_NAMES: Mapping[str, str] = {
    "utf-8": "UTF-8",
    "cp1252": "Windows-1252 (ANSI)",
    "utf-16": "UTF-16",
    "cp850": "MS-DOS (cp850)",
}
"""The encodings that may be declared, as Python names them, with the names that people know."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UTF8_CHARACTER = re.compile(rb"[\xc3-\xf4][\x80-\xbf]+|\xc2[\xa0-\xbf]")
_LETTERS = "ÁÀÂÃÉÊÍÓÔÕÚÜÇÑáàâãéêíóôõúüçñ"
_SIGNS = "ªº°§–—‘’“”…•€´¨²³½¼\N{NO-BREAK SPACE}®©·"
_UNUSUAL = re.compile(f"[^\x00-\x7f{_LETTERS}{_SIGNS}]")
_SIGN_IN_WORD = re.compile(
    rf"(?<=[A-Za-z{_LETTERS}])[^\x00-\x7f{_LETTERS}’´ªº](?=[A-Za-z{_LETTERS}])"
)
_SAMPLE = 1024


def decode_text(content: bytes, declared: str | None) -> tuple[str, str]:
    """Return the text of a .csv file and the name of its encoding, None for that of plain ASCII.

    Raises ``WorkbookRefused`` when the bytes are no text in the declared encoding, or leave open
    which one it is.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _decoded(content[len(mark) :], encoding), _name(encoding)
    if declared is not None:
        encoding = _wide_encoding(content) or "utf-16-le" if declared == "utf-16" else declared
        return _decoded(content, encoding), ENCODING_NAMES[declared]
    if wide := _wide_encoding(content):
        return _decoded(content, wide), _name(wide)
    try:
        return content.decode(), "ASCII" if content.isascii() else ENCODING_NAMES["utf-8"]
    except UnicodeDecodeError as error:
        return _decoded_as_ansi(content, error), ENCODING_NAMES["cp1252"]


def _name(encoding: str) -> str:
    return ENCODING_NAMES.get(encoding[:6], ENCODING_NAMES["utf-8"])


def _wide_encoding(content: bytes) -> str | None:
    """Return the form of UTF-16 in which every other byte of a text is zero, None where none is."""
    sample = content[:_SAMPLE]
    low, high = sample[0::2], sample[1::2]
    if not high or low.count(0) == high.count(0):
        return None
    if not low.count(0) and high.count(0) * 2 > len(high):
        return "utf-16-le"
    return "utf-16-be" if not high.count(0) and low.count(0) * 2 > len(low) else None


def _decoded(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise _not_encoded(content, error, encoding) from error


def _not_encoded(content: bytes, error: UnicodeDecodeError, encoding: str) -> WorkbookRefused:
    line = 1 + content[: error.start].decode(encoding, "replace").count("\n")
    return csv_unreadable(
        line,
        Text(
            pt="os bytes não são de um texto em {encoding}",
            en="its bytes are no text in {encoding}",
        ).format(encoding=_name(encoding) if encoding != "cp850" else ENCODING_NAMES["cp850"]),
        Text(
            pt="Salve o arquivo de novo como CSV UTF-8, ou declare a codificação com --encoding.",
            en="Save the file again as CSV UTF-8, or declare the encoding with --encoding.",
        ),
    )


def _decoded_as_ansi(content: bytes, error: UnicodeDecodeError) -> str:
    """Return a text that is no UTF-8 as Windows writes it in Brazil, where it can be nothing else.

    Letters of other languages, or signs within words, are those of another encoding.
    """
    if _UTF8_CHARACTER.search(content):
        raise _not_encoded(content, error, "utf-8")
    text = _decoded_or_unclear(content)
    strange = _UNUSUAL.search(text) or _SIGN_IN_WORD.search(text)
    if strange is not None:
        raise _encoding_unclear(1 + text.count("\n", 0, strange.start()))
    return text


def _decoded_or_unclear(content: bytes) -> str:
    try:
        return content.decode("cp1252")
    except UnicodeDecodeError as error:
        raise _encoding_unclear(1 + content.count(b"\n", 0, error.start)) from error


def _encoding_unclear(line: int) -> WorkbookRefused:
    return csv_unclear(
        Text(
            pt="Não dá para saber a codificação do arquivo: as letras da linha {line} não são as "
            "de um texto em UTF-8 nem em Windows-1252.",
            en="The file's encoding cannot be told: the letters of line {line} are neither those "
            "of a text in UTF-8 nor in Windows-1252.",
        ).format(line=line),
        Text(
            pt="Declare-a com --encoding ({names}), ou salve de novo como CSV UTF-8.",
            en="Declare it with --encoding ({names}), or save again as CSV UTF-8.",
        ).format(names=", ".join(ENCODING_NAMES)),
    )
