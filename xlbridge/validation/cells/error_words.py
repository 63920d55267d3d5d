"""The words that Excel and its kin show for an error, when they are kept as text.

That happens where values are pasted, or a file comes from another program: the cell is no error any
more, and is no value either.
"""

import re
import unicodedata

from xlbridge.workbook.reading.cells import CellColumn

_EXCEL = (
    ("#BLOCKED!", "#BUSY!", "#CALC!", "#CONNECT!", "#DIV/0!", "#ERROR!", "#EXTERNAL!", "#FIELD!"),
    ("#GETTING_DATA", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#PYTHON!", "#REF!", "#SPILL!"),
    ("#UNKNOWN!", "#VALUE!"),
)
_EXCEL_IN_PORTUGUESE = (
    ("#BLOQUEADO!", "#CAMPO!", "#CONECTAR!", "#DESCONHECIDO!", "#DESPEJAR!", "#ERRO!", "#N/D"),
    ("#NOME?", "#NULO!", "#OBTENDO_DADOS", "#OCUPADO!", "#VALOR!"),
)
_WORDS = frozenset(word for line in (*_EXCEL, *_EXCEL_IN_PORTUGUESE) for word in line)
_LIBRE_OFFICE = re.compile(r"(?:Err|Erro):5\d\d", re.ASCII)


def error_words(column: CellColumn) -> dict[int, str]:
    """Return the texts of a column that are words for an error, by their indexes."""
    joined = "\n".join(column.texts)
    if "#" not in joined and "Err" not in joined:
        return {}
    return {place: text.strip() for place, text in enumerate(column.texts) if _is_word(text)}


def _is_word(text: str) -> bool:
    bare = text.strip()
    if bare[:1] not in {"#", "E"}:
        return False
    return _folded(bare) in _WORDS or _LIBRE_OFFICE.fullmatch(bare) is not None


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).upper()
