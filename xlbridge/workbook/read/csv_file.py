"""Parser of .csv files, which detects their delimiter, encoding and decimal separator.

Nothing is guessed: a file with an unclear delimiter or encoding is refused, with the option that
declares it. Every cell is a text, which validation parses like any other.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.i18n import Text
from xlbridge.resources import normalize_header
from xlbridge.resources.names import is_column_name
from xlbridge.settings import CSV_ENCODINGS, CsvForm, WorkbookLimits
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.messages import (
    Budget,
    ParserMessage,
    SheetEncoder,
    SheetEnded,
    SheetStarted,
    WorkbookStarted,
)
from xlbridge.workbook.read.refusals import csv_unreadable, text_too_long

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks, with the encodings that they show."""
_UTF8_CHARACTER = re.compile(rb"[\xc3-\xf4][\x80-\xbf]+|\xc2[\xa0-\xbf]")
_LETTERS = "ÁÀÂÃÉÊÍÓÔÕÚÜÇÑáàâãéêíóôõúüçñ"
_SIGNS = "ªº°§–—‘’“”…•€´¨²³½¼\N{NO-BREAK SPACE}®©·"
_UNUSUAL = re.compile(f"[^\x00-\x7f{_LETTERS}{_SIGNS}]")
_SIGN_IN_WORD = re.compile(
    rf"(?<=[A-Za-z{_LETTERS}])[^\x00-\x7f{_LETTERS}’´ªº](?=[A-Za-z{_LETTERS}])"
)
_SAMPLE = 1024


def decode_text(content: bytes, declared: str | None) -> tuple[str, str]:
    """Return the text of a .csv file and the codec of its encoding.

    Raises ``WorkbookRefused`` if the bytes are not text in the declared encoding, or the encoding
    is unclear.
    """
    for mark, encoding in MARKS:
        if content.startswith(mark):
            return _decoded(content[len(mark) :], encoding)
    # UTF-16 if every other byte is zero.
    low, high = content[:_SAMPLE:2], content[1:_SAMPLE:2]
    wide = None
    if not low.count(0) and high.count(0) * 2 > len(high):
        wide = "utf-16-le"
    elif high and not high.count(0) and low.count(0) * 2 > len(low):
        wide = "utf-16-be"
    known = (wide or "utf-16-le") if declared == "utf-16" else (declared or wide)
    if known is not None:
        return _decoded(content, known)
    try:
        return content.decode(), "ascii" if content.isascii() else "utf-8"
    except UnicodeDecodeError as error:
        if _UTF8_CHARACTER.search(content):
            raise _not_encoded(content, error, "utf-8") from error
        # Otherwise assume Brazilian Windows: letters of other languages, or symbols within words,
        # show that the encoding is another one.
        text = content.decode("cp1252", "replace")
        strange = _UNUSUAL.search(text) or _SIGN_IN_WORD.search(text)
        if strange is not None:
            raise WorkbookRefused(
                "csv-unclear",
                Text(
                    pt="Não dá para saber a codificação do arquivo: as letras da linha {line} não "
                    "são as de um texto em UTF-8 nem em Windows-1252.",
                    en="The file's encoding cannot be determined: the letters of line {line} are "
                    "neither those of a text in UTF-8 nor in Windows-1252.",
                ).format(line=1 + text.count("\n", 0, strange.start())),
                Text(
                    pt="Declare-a com --encoding ({names}), ou salve de novo como CSV UTF-8.",
                    en="Declare it with --encoding ({names}), or save again as CSV UTF-8.",
                    page=_CHOOSE_ENCODING,
                ).format(names=", ".join(CSV_ENCODINGS)),
            ) from error
        return text, "cp1252"


_CHOOSE_ENCODING = Text(
    pt="Escolha a codificação em Abrir, ou salve o arquivo de novo como CSV UTF-8.",
    en="Choose the encoding under Open, or save the file again as CSV UTF-8.",
)


def _name(encoding: str) -> str:
    """Return the name of an encoding for users, without the byte order of UTF-16."""
    return "ASCII" if encoding == "ascii" else CSV_ENCODINGS[encoding[: len("utf-16")]]


def _decoded(content: bytes, encoding: str) -> tuple[str, str]:
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError as error:
        raise _not_encoded(content, error, encoding) from error


def _not_encoded(content: bytes, error: UnicodeDecodeError, encoding: str) -> WorkbookRefused:
    line = 1 + content[: error.start].decode(encoding, "replace").count("\n")
    return csv_unreadable(
        line,
        Text(
            pt="os bytes não são de um texto em {encoding}",
            en="its bytes are not text in {encoding}",
        ).format(encoding=_name(encoding)),
        Text(
            pt="Salve o arquivo de novo como CSV UTF-8, ou declare a codificação com --encoding.",
            en="Save the file again as CSV UTF-8, or declare the encoding with --encoding.",
            page=_CHOOSE_ENCODING,
        ),
    )


DELIMITERS: Mapping[str, Text] = {
    ";": Text(pt="ponto e vírgula (;)", en="semicolon (;)"),
    ",": Text(pt="vírgula (,)", en="comma (,)"),
    "\t": Text(pt="tabulação", en="tab"),
    "|": Text(pt="barra vertical (|)", en="vertical bar (|)"),
}
_DECLARATION = re.compile(r"sep=(.)[ \t]*(?:\r\n|\n|\r|\Z)", re.IGNORECASE)
NO_DELIMITER = "\N{INFORMATION SEPARATOR ONE}"
"""Delimiter of a file with a single column, which no text has."""
_END_OF_FILE = re.compile(r"\x1a[\x1a\s]*\Z")
"""Ctrl-Z, with which programs of MS-DOS end a text."""
_MIN_ROWS_WITH_END = 3
_SAMPLE_ROWS = 200
_MAX_RAGGED_SHARE, _MAX_RAGGED_SHARE_BELOW_HEADER = 5, 2
"""At most one row in this many may have another number of cells than the rest."""
_MIN_NAMES_SHARE = 0.7
"""Share of a header's cells that are different names."""
_ANY_DELIMITER = re.compile(r"[;,\t|]")
_DELIMITER_IN_WORD = re.compile(r"[;,\t|](?=\S)")
_HEADER_ROWS = 20
"""Rows at the start of a file that may be its header."""

_LITERAL = r'"(?:[^"]|"")*+"'
_TEXT_FORMULA = re.compile(rf"={_LITERAL}(?:&{_LITERAL})*+")
_TEXT_LITERAL = re.compile(_LITERAL)
_NUMBER = r"[-+(]?(?:R\$ ?)?(?:\d{1,3}(?:%s\d{3})+|\d+)%s(?:\d{1,2}|\d{4,})[)%%]?"
COMMA_NUMBER = re.compile(_NUMBER % (r"\.", ","), re.ASCII)
POINT_NUMBER = re.compile(_NUMBER % (",", r"\."), re.ASCII)
"""Numbers whose form shows their decimal mark: three digits after one may be thousands."""
_FORBIDDEN_IN_NAMES = re.compile(r"[\[\]:*?/\\]|^'|'$")
_LONGEST_NAME = 31


_DECIMALS: Mapping[tuple[bool, bool], Text] = {
    (False, False): Text(pt="nenhum número com decimais", en="no number with decimals"),
    (True, False): Text(pt="decimais com vírgula", en="decimals with a comma"),
    (False, True): Text(pt="decimais com ponto", en="decimals with a point"),
    (True, True): Text(
        pt="decimais ora com vírgula, ora com ponto: cada coluna é lida como está escrita",
        en="decimals with a comma or with a point: each column is read as it is written",
    ),
}
"""Descriptions of decimals, by whether they have commas and points."""


class CsvText(NamedTuple):
    """Text of a .csv file: the line that declares the delimiter, empty without one, this delimiter,
    the records, and what ends the file."""

    declaration: str
    delimiter: str | None
    records: str
    ending: str


def split_text(text: str) -> CsvText:
    """Return the parts of the text of a .csv file."""
    end = _END_OF_FILE.search(text)
    text, ending = (text, "") if end is None else (text[: end.start()], end[0])
    declared = _DECLARATION.match(text)
    if declared is None:
        return CsvText("", None, text, ending)
    return CsvText(declared[0], declared[1], text[declared.end() :], ending)


def parse_csv(
    content: bytes, name: str, sheet: str | None, limits: WorkbookLimits
) -> Iterator[ParserMessage]:
    """Yield the content of a .csv file: one sheet, named as Excel does, after the file.

    ``name`` is the file's name without extension. Raises ``UsageError`` if there is no such sheet,
    ``WorkbookRefused`` if the content cannot be read, is unclear or exceeds the limits.
    """
    name = _FORBIDDEN_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "csv"
    if sheet is not None and sheet != name:
        raise UsageError(
            Text(
                pt="Um .csv tem uma única planilha: {name}, e não {sheet!r}.",
                en="A .csv file has a single sheet: {name}, not {sheet!r}.",
            ).format(name=name, sheet=sheet)
        )
    text, encoding = decode_text(content, limits.csv.encoding)
    nul = text.find("\0")
    if nul >= 0:
        raise csv_unreadable(
            1 + text.count("\n", 0, nul),
            Text(pt="ela tem bytes nulos", en="it has NUL bytes"),
            Text(
                pt="O arquivo não é texto, ou a codificação é outra: declare-a com --encoding.",
                en="The file is not text, or has another encoding: declare it with --encoding.",
                page=Text(
                    pt="O arquivo não é texto, ou a codificação é outra: escolha-a em Abrir.",
                    en="The file is not text, or has another encoding: choose it under Open.",
                ),
            ),
        )
    declaration, declared, records, ending = split_text(text)
    delimiter = limits.csv.delimiter or declared or _detect_delimiter(records, limits.csv.headers)
    lines = io.StringIO(records, newline="")
    reader = csv.reader(lines, delimiter=delimiter or NO_DELIMITER, strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        if "field larger" in str(error):
            raise text_too_long("csv", csv.field_size_limit()) from error
        line = reader.line_num + bool(declaration)
        raise csv_unreadable(line, _OPEN_QUOTES, _HOW_TO_QUOTE) from error
    if '="' in text:
        # Programs write ="…" to make Excel keep a cell as text.
        for row in rows:
            row[:] = [_text_of(cell) if _TEXT_FORMULA.fullmatch(cell) else cell for cell in row]
    is_unterminated = not (ending or records.endswith(("\n", "\r")))
    while rows and not any(rows[-1]):
        rows.pop()
        is_unterminated = False
    if delimiter != ",":
        _drop_ends_of_rows(rows)
    width = max(map(len, rows), default=0)
    encoder = SheetEncoder(name, Budget(limits))
    encoder.reserve(len(rows) - 1, 0, width - 1)
    widths = [(n, len(row)) for n, row in enumerate(rows) if not n or len(row) != len(rows[n - 1])]
    for row in rows:
        row.extend([""] * (width - len(row)))
    commas, points = (
        any(mark in cell and number.fullmatch(cell) for row in rows for cell in row)
        for mark, number in ((",", COMMA_NUMBER), (".", POINT_NUMBER))
    )
    read_as = Text(
        pt="Lido como CSV: separador {delimiter}{source}, codificação {encoding}, {decimals}.",
        en="Read as CSV: delimiter {delimiter}{source}, encoding {encoding}, {decimals}.",
    ).format(
        delimiter="–" if delimiter is None else DELIMITERS.get(delimiter, delimiter),
        source=Text(pt=" (pela linha sep=)", en=" (by its line sep=)") if declared else "",
        encoding=_name(encoding),
        decimals=_DECIMALS[commas, points],
    )
    yield WorkbookStarted(None, (), read_as, CsvForm(delimiter, encoding))
    yield SheetStarted(name)
    yield from encoder.encode(0, 0, rows)
    encoder.end()
    yield SheetEnded(RawSheet(is_text_only=True, widths=widths, is_unterminated=is_unterminated))


def _drop_ends_of_rows(rows: Sequence[list[str]]) -> None:
    """Drop the empty cell at the end of all rows below a header that has one cell less.

    Some programs end each row, but not the header, with a delimiter. A delimiter within a value
    has the same effect on a row, but not on all of them; a decimal comma may.
    """
    filled = [row for row in rows if any(row)]
    widest = max(map(len, filled), default=0)
    first = next((n for n, row in enumerate(filled) if len(row) == widest), 0)
    below = filled[first:]
    is_header = first > 0 and len(filled[first - 1]) == widest - 1
    if (
        is_header
        and len(below) >= _MIN_ROWS_WITH_END
        and not any(len(row) != widest or row[-1] for row in below)
    ):
        for row in below:
            row.pop()


def _text_of(formula: str) -> str:
    """Return the text that a formula of texts alone shows."""
    return "".join(one[1:-1].replace('""', '"') for one in _TEXT_LITERAL.findall(formula))


_OPEN_QUOTES = Text(
    pt="faltam as aspas finais de um texto, ou há aspas no texto que não estão dobradas",
    en="a quoted text is not closed, or has quotes in it that are not doubled",
)
_HOW_TO_QUOTE = Text(
    pt="Feche as aspas ou dobre as do texto, ou salve o CSV de novo pelo Excel.",
    en="Close the quotes or double those in the text, or save the CSV again in Excel.",
)


def _detect_delimiter(text: str, headers: Sequence[str]) -> str | None:
    """Return the delimiter of the rows, None if they have a single cell each.

    It is the one under which most names are ``headers`` of mappings, then the one that divides a
    header into as many names as the rows have cells. If none does, or several do, it is the one
    under which most names are columns of resources, then the one that gives all rows the same
    number of cells, or else the only one in the header. Raises ``WorkbookRefused`` if several are
    as likely, or none is.
    """
    keys = frozenset(filter(None, map(normalize_header, headers)))
    known = keys and _delimiter_of_known_names(text, lambda cell: normalize_header(cell) in keys)
    if known:
        return known
    likely = {mark: score for mark in DELIMITERS if (score := _regularity(text, mark))}
    best = sorted(likely, key=lambda delimiter: likely[delimiter], reverse=True)
    if [matches for _, matches, *_ in likely.values()].count(True) != 1:
        known = _delimiter_of_known_names(text, _is_column_name)
        if known is not None:
            return known
    if best and (len(best) == 1 or likely[best[0]] > likely[best[1]]):
        return best[0]
    header = next((line for line in text.splitlines() if line.strip()), "")
    in_header = [delimiter for delimiter in DELIMITERS if delimiter in header]
    if not best and len(in_header) <= 1:
        return next(iter(in_header), None)
    reason = Text(
        pt="com nenhum deles as linhas têm o mesmo número de colunas",
        en="no delimiter gives its rows the same number of columns",
    )
    if best:
        first, second, *_ = map(DELIMITERS.__getitem__, best)
        reason = Text(pt="{a} e {b} servem", en="{a} and {b} fit").format(a=first, b=second)
    raise WorkbookRefused(
        "csv-unclear",
        Text(
            pt="Não dá para saber o separador das colunas: {reason}.",
            en="The delimiter of the columns cannot be determined: {reason}.",
        ).format(reason=reason),
        Text(
            pt='Declare-o com --delimiter ";" (ou ",", "tab", "|"), ou salve o CSV de novo.',
            en='Declare it with --delimiter ";" (or ",", "tab", "|"), or save the CSV again.',
            page=Text(
                pt="Escolha o separador em Abrir, ou salve o CSV de novo.",
                en="Choose the delimiter under Open, or save the CSV again.",
            ),
        ),
    )


def _delimiter_of_known_names(text: str, is_known: Callable[[str], bool]) -> str | None:
    """Return the delimiter that divides a row into most known names, at least two; None if there is
    none, or more than one."""
    counts = {
        mark: max(
            (sum(map(is_known, row)) for row in _first_rows(text, mark, _HEADER_ROWS)), default=0
        )
        for mark in DELIMITERS
    }
    first, second, *_ = sorted(counts, key=counts.__getitem__, reverse=True)
    return first if counts[first] > max(counts[second], 1) else None


def _is_column_name(cell: str) -> bool:
    return is_column_name(cell.strip()) and not _DELIMITER_IN_WORD.search(cell)


def _first_rows(text: str, delimiter: str, count: int) -> list[list[str]]:
    """Return the first rows that are not blank, none if they cannot be divided."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return [row for row in islice(reader, count) if any(map(str.strip, row))]
    except csv.Error:
        return []


def _regularity(text: str, delimiter: str) -> tuple[bool, bool, bool, int] | None:
    """Return a score of a delimiter, None if it does not fit.

    The score is whether there is a header, whether it has as many names as the rows have cells,
    whether all rows from the first of the usual width on have that width, and the negative number
    of rows above.
    """
    rows = _first_rows(text, delimiter, _SAMPLE_ROWS)
    widths = list(map(len, rows))
    usual, _ = Counter(widths).most_common(1)[0] if widths else (0, 0)
    if usual < 2:
        return None
    above = widths.index(usual)
    header = next((row for row in reversed(rows[: above + 1]) if _is_header(row, usual)), None)
    ragged = sum(width != usual for width in widths[above:])
    share = _MAX_RAGGED_SHARE if header is None else _MAX_RAGGED_SHARE_BELOW_HEADER
    if ragged * share > len(widths) - above:
        return None
    matches = header is not None and len(header) == usual
    return header is not None, matches, ragged == 0, -above


def _is_header(row: Sequence[str], usual: int) -> bool:
    """Return whether a row is nearly as wide as the others and has names in nearly all cells."""
    names = {cell.strip().casefold() for cell in row if _is_name(cell)}
    return len(row) >= max(2, usual - 1) and len(names) >= _MIN_NAMES_SHARE * len(row)


def _is_name(cell: str) -> bool:
    """Return whether a cell has letters, also in each part that another delimiter separates."""
    parts = [part for part in _ANY_DELIMITER.split(cell) if not part.isspace() and part]
    return bool(parts) and all(any(map(str.isalpha, part)) for part in parts)
