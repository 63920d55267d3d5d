"""Parser of .csv files: texts of a sheet, with the delimiter, encoding and decimals they show.

The encoding is told by the bytes. Nothing is guessed: where a file leaves its delimiter or encoding
open, it is refused with the option that says it. Every cell is a text, which the validation reads
as it reads any other.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.i18n import Text
from xlbridge.settings import CsvForm, WorkbookLimits
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.messages import (
    ParserMessage,
    SheetEnded,
    SheetStarted,
    WorkbookStarted,
)
from xlbridge.workbook.read.refusals import csv_unclear, csv_unreadable, text_too_long
from xlbridge.workbook.read.sheet_encoder import Budget, SheetEncoder

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
        if _UTF8_CHARACTER.search(content):
            raise _not_encoded(content, error, "utf-8") from error
        # Else Windows wrote it in Brazil: letters of other languages, or signs within words, are
        # those of another encoding.
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError as undefined:
            raise _encoding_unclear(1 + content.count(b"\n", 0, undefined.start)) from undefined
        strange = _UNUSUAL.search(text) or _SIGN_IN_WORD.search(text)
        if strange is not None:
            raise _encoding_unclear(1 + text.count("\n", 0, strange.start())) from error
        return text, ENCODING_NAMES["cp1252"]


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
            en="its bytes are not text in {encoding}",
        ).format(encoding=_name(encoding) if encoding != "cp850" else ENCODING_NAMES["cp850"]),
        Text(
            pt="Salve o arquivo de novo como CSV UTF-8, ou declare a codificação com --encoding.",
            en="Save the file again as CSV UTF-8, or declare the encoding with --encoding.",
        ),
    )


def _encoding_unclear(line: int) -> WorkbookRefused:
    return csv_unclear(
        Text(
            pt="Não dá para saber a codificação do arquivo: as letras da linha {line} não são as "
            "de um texto em UTF-8 nem em Windows-1252.",
            en="The file's encoding cannot be determined: the letters of line {line} are neither "
            "those of a text in UTF-8 nor in Windows-1252.",
        ).format(line=line),
        Text(
            pt="Declare-a com --encoding ({names}), ou salve de novo como CSV UTF-8.",
            en="Declare it with --encoding ({names}), or save again as CSV UTF-8.",
        ).format(names=", ".join(ENCODING_NAMES)),
    )


DELIMITERS: Mapping[str, Text] = {
    ";": Text(pt="ponto e vírgula (;)", en="semicolon (;)"),
    ",": Text(pt="vírgula (,)", en="comma (,)"),
    "\t": Text(pt="tabulação", en="tab"),
    "|": Text(pt="barra vertical (|)", en="vertical bar (|)"),
}
_DECLARATION = re.compile(r"sep=(.)[ \t]*(?:\r\n|\n|\r|\Z)", re.IGNORECASE)
_NO_DELIMITER = "\N{INFORMATION SEPARATOR ONE}"
_SAMPLE_ROWS = 200
_MOST_RAGGED = 5
"""One row in so many may have another number of cells than the rest."""

_KEPT_AS_TEXT = re.compile(r'="([^"]*)"')
_NUMBER = r"[-+(]?(?:R\$ ?)?(?:\d{1,3}(?:%s\d{3})+|\d+)%s(?:\d{1,2}|\d{4,})[)%%]?"
_COMMA_NUMBER = re.compile(_NUMBER % (r"\.", ","), re.ASCII)
_POINT_NUMBER = re.compile(_NUMBER % (",", r"\."), re.ASCII)
_FORBIDDEN_IN_NAMES = re.compile(r"[\[\]:*?/\\]|^'|'$")
_LONGEST_NAME = 31


@dataclass(slots=True)
class _Decimals:
    """Numbers with a decimal comma or a decimal point among the cells that can be only that."""

    commas: int = 0
    points: int = 0

    def count(self, cells: Iterable[str]) -> None:
        for cell in cells:
            self.commas += "," in cell and _COMMA_NUMBER.fullmatch(cell) is not None
            self.points += "." in cell and _POINT_NUMBER.fullmatch(cell) is not None

    def text(self) -> Text:
        if self.commas and self.points:
            return Text(
                pt="decimais ora com vírgula, ora com ponto: cada coluna é lida pelo que mostra",
                en="decimals now with a comma, now with a point: each column is read by what it "
                "shows",
            )
        if self.commas:
            return Text(pt="decimais com vírgula", en="decimals with a comma")
        if self.points:
            return Text(pt="decimais com ponto", en="decimals with a point")
        return Text(pt="nenhum número com decimais", en="no number with decimals")


def parse_csv(
    content: bytes, name: str, sheet: str | None, limits: WorkbookLimits
) -> Iterator[ParserMessage]:
    """Yield what a .csv file holds: one sheet, named after the file as Excel names it.

    ``name`` is that of the file without its extension.

    Raises ``UsageError`` when there is no such sheet, ``WorkbookRefused`` when the content is no
    such text, leaves its form open or exceeds the limits.
    """
    name = _FORBIDDEN_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "csv"
    if sheet is not None and sheet != name:
        raise UsageError(
            Text(
                pt="Um .csv tem uma planilha só: {name}; não {sheet!r}.",
                en="A .csv file has one sheet only: {name}; not {sheet!r}.",
            ).format(name=name, sheet=sheet)
        )
    text, encoding = decode_text(content, limits.csv.encoding)
    _refuse_nul(text)
    rows, delimiter = _split(text, limits.csv)
    rows = [[_plain(cell) for cell in row] for row in rows]
    is_open = not text.endswith(("\n", "\r"))
    while rows and not any(rows[-1]):
        rows.pop()
        is_open = False
    width = max(map(len, rows), default=0)
    encoder = SheetEncoder(name, Budget(limits))
    encoder.reserve(len(rows) - 1, 0, width - 1)
    decimals = _Decimals()
    changes = (at for at, row in enumerate(rows) if not at or len(row) != len(rows[at - 1]))
    widths = [(at, len(rows[at])) for at in changes]
    for row in rows:
        row.extend([""] * (width - len(row)))
        decimals.count(row)
    said = _said(delimiter, encoding, decimals, text)
    yield WorkbookStarted(None, (), said)
    yield SheetStarted(name)
    yield from encoder.encode(0, 0, rows)
    encoder.end()
    yield SheetEnded(RawSheet(only_texts=True, widths=widths, is_open=is_open))


def _said(delimiter: str | None, encoding: str, decimals: _Decimals, text: str) -> Text:
    known: Text | str = "–" if delimiter is None else DELIMITERS.get(delimiter, delimiter)
    declared = _DECLARATION.match(text)
    first = Text(pt=" (dito na linha sep=)", en=" (said by its line sep=)") if declared else ""
    return Text(
        pt="Lido como CSV: separador {delimiter}{first}, codificação {encoding}, {decimals}.",
        en="Read as CSV: delimiter {delimiter}{first}, encoding {encoding}, {decimals}.",
    ).format(delimiter=known, first=first, encoding=encoding, decimals=decimals.text())


def _plain(cell: str) -> str:
    """Return a cell's text without the form ="007", by which programs keep Excel's hands off."""
    kept = _KEPT_AS_TEXT.fullmatch(cell) if cell.startswith('="') else None
    return cell if kept is None else kept[1]


def _refuse_nul(text: str) -> None:
    place = text.find("\0")
    if place >= 0:
        raise csv_unreadable(
            1 + text.count("\n", 0, place),
            Text(pt="ela tem bytes nulos", en="it has NUL bytes"),
            Text(
                pt="O arquivo não é um texto, ou a codificação é outra: declare-a com --encoding.",
                en="The file is not text, or its encoding is another: declare it with --encoding.",
            ),
        )


def _split(text: str, form: CsvForm) -> tuple[list[list[str]], str | None]:
    """Return the rows of a text and its delimiter, None where it has a single column."""
    declared = _DECLARATION.match(text)
    if declared:
        delimiter = form.delimiter or declared[1]
        return _rows(text[declared.end() :], delimiter, 2), delimiter
    if form.delimiter is not None:
        return _rows(text, form.delimiter), form.delimiter
    delimiter = _told_delimiter(text)
    return _rows(text, delimiter or _NO_DELIMITER), delimiter


def _rows(text: str, delimiter: str, first_line: int = 1) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return list(reader)
    except csv.Error as error:
        raise _row_refusal(first_line + reader.line_num - 1, str(error)) from error


def _row_refusal(line: int, why: str) -> Exception:
    if "field larger" in why:
        return text_too_long("csv", csv.field_size_limit())
    return csv_unreadable(
        line,
        Text(
            pt="um texto entre aspas não se fecha, ou tem aspas que não estão dobradas",
            en="a quoted text is not closed, or has quotes in it that are not doubled",
        ),
        Text(
            pt="Feche as aspas ou dobre as que são do texto, ou salve o CSV de novo pelo Excel.",
            en="Close the quotes or double those of the text, or save the CSV again by Excel.",
        ),
    )


def _told_delimiter(text: str) -> str | None:
    """Return the delimiter that the rows show; None where they have a single cell each.

    It is the one by which the rows have the same number of cells, else the only one in the header.
    Raises ``WorkbookRefused`` when several are as likely, or none is.
    """
    scores = {delimiter: _regularity(text, delimiter) for delimiter in DELIMITERS}
    likely = {delimiter: score for delimiter, score in scores.items() if score is not None}
    best = sorted(likely, key=lambda delimiter: likely[delimiter], reverse=True)
    if best and (len(best) == 1 or likely[best[0]] > likely[best[1]]):
        return best[0]
    # With none in the first line it is one cell.
    header = next((line for line in text.splitlines() if line.strip()), "")
    in_header = [delimiter for delimiter in DELIMITERS if delimiter in header]
    if not best and len(in_header) <= 1:
        return next(iter(in_header), None)
    raise csv_unclear(
        Text(
            pt="Não dá para saber o separador das colunas: {why}.",
            en="The delimiter of the columns cannot be determined: {why}.",
        ).format(why=_why_unclear(best)),
        Text(
            pt='Declare-o com --delimiter ";" (ou ",", "tab", "|"), ou salve o CSV de novo.',
            en='Declare it with --delimiter ";" (or ",", "tab", "|"), or save the CSV again.',
        ),
    )


def _why_unclear(likely: Sequence[str]) -> Text:
    if not likely:
        return Text(
            pt="as linhas não têm o mesmo número de colunas com nenhum",
            en="its rows have the same number of columns with none",
        )
    return Text(pt="{a} e {b} servem", en="{a} and {b} fit").format(
        a=DELIMITERS[likely[0]], b=DELIMITERS[likely[1]]
    )


def _regularity(text: str, delimiter: str) -> tuple[bool, int] | None:
    """Return how well a delimiter fits, None where it does not: whether all rows from the widest
    on first seen have the same width, and how many rows above them have another."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        widths = [len(row) for row in islice(rows, _SAMPLE_ROWS) if any(map(str.strip, row))]
    except csv.Error:
        return None
    usual, _ = Counter(widths).most_common(1)[0] if widths else (0, 0)
    if usual < 2:
        return None
    above = widths.index(usual)
    ragged = sum(width != usual for width in widths[above:])
    if ragged * _MOST_RAGGED > len(widths) - above:
        return None
    return ragged == 0, -above
