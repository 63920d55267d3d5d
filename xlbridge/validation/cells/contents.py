"""Contents of cells: those of one column by their types in the file, and texts: display, invisible
characters, mojibake, words of totals.
"""

import datetime as dt
import html
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from xlbridge.i18n import Text, localized_number
from xlbridge.resources import strip_accents
from xlbridge.resources.findings import mark_of
from xlbridge.settings import NumberStyle
from xlbridge.workbook.read import CellColumn, CellKind

BoolArray = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class SheetOrder:
    """Order of day and month in the text dates of a sheet: the Brazilian one if ``native``, as
    ``column`` proves."""

    native: bool
    column: str


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Distinct ``values`` of a column as texts.

    ``positions``: positions of the cells that have one of them; ``indexes``: the index of each
    one's value.
    """

    values: Sequence[str]
    positions: Positions
    indexes: Positions

    def cells_with(self, indexes: Collection[int]) -> Iterator[tuple[int, int]]:
        """Yield the position and value index of each cell with one of the given values."""
        is_wanted = np.zeros(len(self.values), dtype=bool)
        is_wanted[list(indexes)] = True
        found = is_wanted[self.indexes]
        yield from zip(self.positions[found].tolist(), self.indexes[found].tolist(), strict=True)


_FEW_TEXTS = 16
"""Factor by which a column has more texts than the cells whose texts are sorted, not counted."""


class ColumnCells:
    """Cells of one column in the given rows; a ``position`` counts those rows from zero.

    ``kinds``, ``numbers`` and ``wholes`` have one entry for each cell: its ``CellKind``, and its
    content as stored by ``CellColumn``, as a double and as an integer. ``sheet_style`` returns the
    style on which the text numbers of the whole sheet agree, None if they do not; ``sheet_dates``
    the order of day and month that the text dates of another column prove.
    """

    def __init__(
        self,
        column: CellColumn,
        rows: npt.NDArray[np.integer],
        sheet_style: Callable[[], NumberStyle | None] = lambda: None,
        sheet_dates: Callable[[], "SheetOrder | None"] = lambda: None,
    ) -> None:
        """``rows`` are Excel's numbers; those below the column's last row are empty."""
        self.source = column
        self.sheet_style = sheet_style
        self.sheet_dates = sheet_dates
        self._rows = rows
        indexes: slice | Positions = np.minimum(rows, len(column.kinds)) - 1
        below = rows > len(column.kinds)
        if len(rows) and not below[-1] and (np.diff(rows) == 1).all():
            # A slice avoids a copy of the content, which is only read.
            indexes = slice(int(rows[0]) - 1, int(rows[-1]))
        self.kinds = np.frombuffer(column.kinds, dtype=np.uint8)[indexes].copy()
        self.kinds[below] = CellKind.EMPTY
        self.wholes = np.frombuffer(column.content, dtype=np.int64)[indexes]
        self.numbers = self.wholes.view(np.float64)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: int | np.intp) -> Any:
        return self.source.value(int(self._rows[position]) - 1)

    def of_kind(self, kind: CellKind) -> Positions:
        """Return the positions of the cells of a kind."""
        return np.flatnonzero(self.kinds == kind)

    def others(self, *expected: CellKind) -> Positions:
        """Return the positions of the filled cells that are neither text nor of an expected
        kind."""
        return np.flatnonzero((self.kinds > CellKind.TEXT) & ~np.isin(self.kinds, expected))

    def texts(self) -> tuple[Positions, list[str]]:
        """Return the positions and stripped contents of the text cells that are not blank."""
        found = self.distinct_texts
        stripped = np.array(self.stripped_texts, dtype=object)[found.indexes]
        filled = stripped != ""
        return found.positions[filled], stripped[filled].tolist()

    def clear_texts(self, texts: Mapping[int, str]) -> Iterator[tuple[int, str]]:
        """Empty the cells with the given texts, whose keys are the column's text indexes; yield
        the position and text of each."""
        if not texts:
            return
        positions = self.of_kind(CellKind.TEXT)
        for position in positions[np.isin(self.wholes[positions], list(texts))].tolist():
            self.kinds[position] = CellKind.EMPTY
            yield position, texts[int(self.wholes[position])]

    @cached_property
    def text_indexes(self) -> Positions:
        """Index of each distinct text in the column's ``texts``."""
        wholes = self.wholes[self.of_kind(CellKind.TEXT)]
        if _FEW_TEXTS * len(wholes) < len(self.source.texts):
            return np.unique(wholes).astype(np.intp)
        used = np.zeros(len(self.source.texts), dtype=bool)
        used[wholes] = True
        return np.flatnonzero(used)

    @cached_property
    def text_cells(self) -> tuple[Positions, Positions]:
        """Positions of the text cells, and the number of each one's distinct text."""
        positions, indexes = self.of_kind(CellKind.TEXT), self.text_indexes
        numbers = np.empty(len(self.source.texts), np.intp)
        numbers[indexes] = np.arange(len(indexes))
        return positions, numbers[self.wholes[positions]]

    @cached_property
    def distinct_texts(self) -> ColumnValues:
        """Distinct texts, and the text cells."""
        texts = list(map(self.source.texts.__getitem__, self.text_indexes.tolist()))
        return ColumnValues(texts, *self.text_cells)

    @cached_property
    def stripped_texts(self) -> list[str]:
        """Distinct texts without spaces at their ends."""
        return list(map(str.strip, self.distinct_texts.values))


A_DATE = Text(pt="uma data ou hora", en="a date or time")


def display(value: object) -> str:
    """Return a cell's value as text, in the format that the analyst knows."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, bool):
        return "VERDADEIRO" if value else "FALSO"
    if isinstance(value, dt.datetime):
        return value.strftime("%d/%m/%Y %H:%M:%S")
    if isinstance(value, dt.date):
        return value.strftime("%d/%m/%Y")
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, dt.time):
        return value.strftime("%H:%M:%S")
    return str(value)


def quoted(text: str) -> str:
    """Return a text in quotes, with a visible mark for each invisible character."""
    if text.isprintable():
        return f"'{text}'"
    return f"'{''.join(it if it.isprintable() else mark_of(it).sign for it in text)}'"


def format_decimal(number: Decimal | None) -> Text:
    """Format a number in the style of each language."""
    return localized_number(f"{number:f}")


UNASSIGNED = frozenset({"Co", "Cn"})
"""Unicode categories of characters that are private to a font or not assigned."""
_KEPT_CONTROLS = frozenset("\t\n\r")
_ZERO_WIDTH_JOINER = "\u200d"
_ENTITY = re.compile(r"&(?:#\d{2,5}|[A-Za-z]{2,8});", re.ASCII)
_ESCAPES = ("%C3%", "%c3%", "=C3=", "\\u00")
_ESCAPED_BYTES = re.compile(r"%[Cc]3%[89ABab][0-9A-Fa-f]|=C3=[89AB][0-9A-F]")
_ESCAPED_LETTER = re.compile(r"\\u00[CDEFcdef][0-9A-Fa-f]")
_WORD = re.compile(r"[^\s\0]+")
"""Accented letters as addresses, mails and JSON escape them, and words, also of joined texts."""
_SECOND_BYTE = (
    "[\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"  # as Windows shows the second byte of UTF-8
)
_FIRST_BYTES = "ÂÃâ"
_MOJIBAKE = re.compile(f"[ÂÃ]{_SECOND_BYTE}|â{_SECOND_BYTE}{_SECOND_BYTE}")
_PLAUSIBLE = frozenset("áàâãäçéêíñóôõöúüÁÀÂÃÄÇÉÊÍÑÓÔÕÚÜªº°´–—‘’“”…•®©™€\N{NO-BREAK SPACE}")


_PRINTABLE = bytes(range(0x20, 0x7F))
_BLANK_LETTERS = re.compile("[\u2800\u3164\u115f\u1160\uffa0]")
"""Letters without a visible shape: fillers, the empty Braille pattern."""


def is_printable_ascii(text: str) -> bool:
    """Return whether a text has only printable ASCII characters; fast for long texts."""
    return text.isascii() and not text.encode("ascii").translate(None, _PRINTABLE)


def is_all_visible(text: str) -> bool:
    """Return whether a text has no invisible character."""
    return is_printable_ascii(text) or (text.isprintable() and _BLANK_LETTERS.search(text) is None)


def strip_invisible(text: str) -> tuple[str, str | None]:
    """Return the text without invisible characters, and the first of them.

    Unusual spaces and blank letters become a space. Line breaks and tabs stay, and so do joiners of
    emoji, and characters that need another font or a newer Unicode.
    """
    if is_all_visible(text):
        return text, None
    kept, first = [], None
    for index, character in enumerate(text):
        is_blank = _BLANK_LETTERS.match(character) is not None
        if character.isprintable() and not is_blank:
            kept.append(character)
            continue
        category = unicodedata.category(character)
        if character == _ZERO_WIDTH_JOINER and index:
            is_kept = unicodedata.category(text[index - 1]) in {"So", "Mn", "Sk"}
        else:
            is_kept = character in _KEPT_CONTROLS or category in UNASSIGNED
        if is_kept:
            kept.append(character)
            continue
        first = first or character
        if is_blank or category in {"Zs", "Zl", "Zp"}:
            kept.append(" ")
    return "".join(kept).strip(), first


def normalize_width(text: str) -> str:
    """Replace full-width and half-width characters by the usual ones, and compose accents.

    Nothing else is replaced: a superscript digit is not the digit.
    """
    if text.isascii():
        return text
    usual = []
    for character in text:
        form, _, code = unicodedata.decomposition(character).partition(" ")
        usual.append(chr(int(code, 16)) if form in {"<wide>", "<narrow>"} else character)
    return unicodedata.normalize("NFC", "".join(usual))


def repair_mojibake(text: str) -> str | None:
    """Return a text as it was before it was decoded wrongly, or escaped as in HTML, JSON, addresses
    or mails, None if it seems unchanged."""
    meant = text
    if "&" in meant:
        meant = _ENTITY.sub(lambda found: html.unescape(found[0]), meant)
    if any(mark in meant for mark in _ESCAPES):
        meant = _WORD.sub(_unescaped, meant)
    if any(lead in meant for lead in _FIRST_BYTES):

        def as_utf8(found: re.Match[str]) -> str:
            single = (c.encode("cp1252" if ord(c) > 0xFF else "latin-1") for c in found[0])
            decoded = b"".join(single).decode("utf-8", "replace")
            return decoded if _PLAUSIBLE.issuperset(decoded) else found[0]

        meant = _MOJIBAKE.sub(as_utf8, meant)
    return None if meant == text else meant


def _unescaped(found: re.Match[str]) -> str:
    """Return a word with its escaped letters; an address keeps them."""
    if "://" in found[0]:
        return found[0]
    text = _ESCAPED_BYTES.sub(
        lambda pair: bytes.fromhex(re.sub("[%=]", "", pair[0])).decode("utf-8", "replace"), found[0]
    )
    return _ESCAPED_LETTER.sub(lambda code: chr(int(code[0][2:], 16)), text)


def folded_text(text: str) -> str:
    """Return a text without case and accents, for comparisons."""
    return (text if text.isascii() else strip_accents(text)).casefold()


MAX_LISTED = 12
"""Number of values that messages list."""


def quote_some(texts: Collection[str], most: int) -> str:
    """Return the first texts in quotes for a message, with an ellipsis if there are more."""
    return ", ".join(map(quoted, islice(texts, most))) + (" …" if len(texts) > most else "")


_MAX_NAMES = 5
_MAX_NAME_LENGTH = 31


def list_sheet_names(sheets: Sequence[str]) -> str:
    """Return the names of sheets for a message, the first few of them."""
    return quote_some([name[:_MAX_NAME_LENGTH] for name in sheets], _MAX_NAMES)


_MINUS = re.compile(r"^\s*(?:R\$)?\s*[-−(]|[-−]\s*$")


def sign_of(value: object) -> Literal["positive", "negative"] | None:
    """Return the sign of an amount, None if the cell has none."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return None if not value else "negative" if value < 0 else "positive"
    text = display(value)
    if not any(map(str.isdecimal, text)):
        return None
    return "negative" if _MINUS.search(text) else "positive"


class RowWord(Enum):
    """Meaning of a cell's text for its row; the first one counts."""

    TOTAL = "a total or a balance"
    TOTAL_OF = "the total of something"
    STATISTIC = "a sum, an average, a count"
    NOTE = "a footer or a remark"
    LABEL = "the title of a group"
    LIKE_TOTAL = "a name that begins like a total"


_COUNTED = r"(?:clientes?|registros?|linhas?|itens|titulos?|notas|documentos|lancamentos|pedidos)\b"
_OF = r"(?:d[aeo]s?|em|por|n[ao]s?|ate|p/|para)\s"
_TIME = r"(?:dia|mes|periodo|ano|semana|exercicio)"
_WHICH = (
    r"(?:gera(?:l|is)|tota(?:l|is)|parcia(?:l|is)|fina(?:l|is)|inicia(?:l|is)|anterior(?:es)?|ant"
    r"|atua(?:l|is)|liquid[oa]s?|brut[oa]s?|acumulad[oa]s?|disponive(?:l|is)|bloquead[oa]s?"
    r"|conciliad[oa]s?|transportad[oa]s?|(?:d[ae]\s)?abertura|recebid[oa]s?|pag[oa]s?|vencid[oa]s?|pendentes?|abert[oa]s?|baixad[oa]s?"
    r"|a\s(?:receber|pagar|vencer|transportar)|entradas?|saidas?|creditos?|debitos?|receitas?"
    r"|despesas?|pagamentos?|recebimentos?|lancamentos?|diari[oa]|mensa(?:l|is)|anua(?:l|is)"
    rf"|(?:n?[do]?[ao]s?\s)?{_TIME}|(?:da\s)?pagina|(?:do\s)?grupo|em\s(?:conta|caixa|aberto|c/c)"
    rf"|(?:d[aeo]s?|por)\s(?:pagina|grupo|filial|conta|caixa|banco|{_COUNTED}|recebimentos?"
    r"|pagamentos?|entradas?|saidas?|contas?\s+a\s+(?:pagar|receber))"
    r"|(?:em|de|ate|a)?\s?\d{1,2}[/.-]\d{1,2}(?:[/.-]\d{2,4})?|(?:em\s)?r\$.*|\(.*\))"
)
_TAIL = rf"\s*(?:[:=].*|[-–—=>]*\s*\(?\d[\d./,]*\)?(?:\s+{_COUNTED})?|[a-z]{{3,9}}/\d{{2,4}})?"
_TOTAL = re.compile(
    rf"sub-?\s?tota(?:l|is)\b.*|(?:grand\s+)?tota(?:l|is)(?:\s+{_WHICH})*{_TAIL}|totalgeral"
    rf"|tota(?:l|is)\s+{_OF}[^:=]*[:=].*|tota(?:l|is)\s+{_COUNTED}.*"
    rf"|saldos?(?:\s+{_WHICH})*{_TAIL}|saldoanterior|(?:de\s+|a\s+)?transport(?:e|ar){_TAIL}"
    rf"|(?:qtde?\b\.?|quantidade|numero|contagem)(?:\s+(?:total|geral|{_OF}[^:=]*))?\s*[:=].*"
    rf"|contagem\s+(?:geral|{_OF}.*)"
    rf"|(?:somas?|valor|vlr?\.?)\s+(?:total|geral|acumulado)(?:\s+{_WHICH})*{_TAIL}"
    rf"|(?:tot|tt|sdo?)\.?(?:\s+{_WHICH})+{_TAIL}|s\.\s?ant(?:erior)?|totaliza(?:cao|dor)\b.*"
    r"|vem\s+d[ae]\s+(?:folha|pagina)\s+anterior"
)
_TOTAL_OF = re.compile(rf"(?:tota(?:l|is)|saldos?)\s+(?:{_OF}.*)")
_STATISTIC = re.compile(
    r"(?:somas?|somatori[oa]|medi[ao]|contagem|maxim[oa]|minim[oa]|sum|average|count|qtde?\.?"
    r"|quantidade|numero|acumulad[oa]|resultado|resumo|apuracao|tot\.?)"
    rf"(?:\s+(?:geral|total|{_OF}.*|{_WHICH}))*\s*(?:[:=].*)?"
)
_LIKE_TOTAL = re.compile(r"(?:grand\s+)?tota(?:l|is)\b.*")
_NOTE = re.compile(
    r"(?:obs\b|observac(?:ao|oes)\b|notas?\s*:|fonte\s*:|(?:pag(?:ina|\.)?|folha)\s*:?\s*\d|\(?\*+\)?\s"
    r"|(?:emitid|gerad|impress|atualizad|extraid|exportad|consultad|processad)[oa]s?\s+"
    r"(?:em|por|as|via|pelo|pela|no|na|de)\b"
    r"|fim\b(?:\s+d[aeo]s?\b|\s*$)|fina[li]\w*\s+d[aeo]s?\s+(?:relatorio|arquivo|lista)|relatorio\b"
    r"|\(?continua\b|(?:elaborad|conferid|aprovad)[oa]\s+por\b"
    rf"|(?:foram\s+)?(?:encontrad|listad)[oa]s\s+\d[\d.]*\s+{_COUNTED}"
    rf"|\d[\d.]*\s+{_COUNTED}|(?:total|numero|n[o.]?|qtde?\.?|quantidade)\s+d[aeo]s?\s+{_COUNTED})"
    r".*"
)
_LABEL = re.compile(
    r"[a-z][^:=]{0,30}[:=]\s*\S.*"
    r"|(?:vendedor|filial|grupo|subgrupo|regiao|rota|categoria|cidade|empresa|conta|banco|agencia"
    r"|centro de custo|tipo|setor|carteira|cliente|fornecedor|loja|departamento|familia|portador"
    r"|periodo|mes|dia|data|plano de contas)(?:a|es|s)?\b\s*(?:[-–#.]|n[o.])?\s*\d.*"
)
_DECORATION = " \t-=–—>*_.:<#|~»«•·"
_SPACED = re.compile(r"\w(?: \w)+")
_FEWEST_LETTERS = 4


@lru_cache(maxsize=4096)
def row_word(text: str) -> RowWord | None:
    """Return what a text says about its row, None if nothing."""
    stripped = text.strip()
    bare = strip_accents(stripped.strip(_DECORATION)).casefold()
    letters = _SPACED.match(bare)
    if letters and len(letters[0]) > 2 * _FEWEST_LETTERS - 2:
        # T O T A L  G E R A L: two spaces separate words, one separates letters.
        words = re.split(r"\s{2,}", bare)
        bare = " ".join(re.sub(r"(?<=\b\w) (?=\w\b)", "", word) for word in words)
        bare = bare.strip(_DECORATION)
    plain = strip_accents(stripped).casefold()
    found = {
        RowWord.TOTAL: _TOTAL.fullmatch(bare),
        RowWord.TOTAL_OF: _TOTAL_OF.fullmatch(bare),
        RowWord.STATISTIC: _STATISTIC.fullmatch(bare),
        RowWord.NOTE: _NOTE.match(plain) or _NOTE.match(bare),
        RowWord.LABEL: _LABEL.fullmatch(bare),
        RowWord.LIKE_TOTAL: _LIKE_TOTAL.fullmatch(bare),
    }
    return next((word for word, match in found.items() if match), None)


def is_total(text: str) -> bool:
    """Return whether a text marks its row as a total."""
    return row_word(text) in {RowWord.TOTAL, RowWord.TOTAL_OF}


HINTS = (
    *("tota", "saldo", "t o t", "s a l", "transport", "tot.", "a anterior"),
    *("s.ant", "s. ant", "sd. ", "sdo", "tt g", "tt. g"),
)
"""Parts that the text of every total or balance has, in small letters: a quick test of many."""
