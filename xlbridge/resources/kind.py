"""Kinds of a column's values, and their pandas dtypes."""

from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    """Kind of a column's values, which decides how cells are read and written.

    ``code`` is text in which leading zeros are significant; ``cnpj`` and ``cpf`` are codes whose
    mask is dropped on reading; ``money`` is a number of reais, exact to the cent.
    """

    TEXT = "text"
    CODE = "code"
    CNPJ = "cnpj"
    CPF = "cpf"
    INTEGER = "integer"
    NUMBER = "number"
    MONEY = "money"
    DATE = "date"
    BOOLEAN = "boolean"

    @property
    def is_text(self) -> bool:
        """True if values of this kind are text."""
        return self in _TEXT_KINDS

    @property
    def is_code(self) -> bool:
        """True if leading zeros are significant in values of this kind."""
        return self in _TEXT_KINDS - {Kind.TEXT}

    @property
    def is_number(self) -> bool:
        """True if values of this kind are numbers."""
        return self in _NUMBER_KINDS

    @property
    def dtype(self) -> str:
        """The pandas dtype of values of this kind."""
        return "Float64" if self is Kind.MONEY else _DTYPES.get(self, "str")


_TEXT_KINDS = frozenset({Kind.TEXT, Kind.CODE, Kind.CNPJ, Kind.CPF})
_NUMBER_KINDS = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.MONEY})

KIND_OF_DTYPE: Mapping[str, Kind] = {
    "str": Kind.TEXT,
    "Int64": Kind.INTEGER,
    "Float64": Kind.NUMBER,
    "datetime64[us]": Kind.DATE,
    "boolean": Kind.BOOLEAN,
}
"""Default kinds of columns by their dtypes."""
_DTYPES = {kind: dtype for dtype, kind in KIND_OF_DTYPE.items()}
