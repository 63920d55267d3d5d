"""Kinds of a column's values, and their pandas dtypes."""

from enum import StrEnum
from typing import Self


class Kind(StrEnum):
    """Kind of a column's values, which decides how cells are read and written.

    ``code`` is text in which leading zeros are significant; ``cnpj`` and ``cpf`` are codes whose
    mask is dropped on reading; ``money`` is a number of reais, exact to the cent.

    ``dtype`` is the pandas dtype of values. ``is_text``: they are text; ``is_code``: leading zeros
    in them are significant; ``is_number``: they are numbers.
    """

    dtype: str
    is_text: bool
    is_code: bool
    is_number: bool

    def __new__(cls, value: str, dtype: str = "str") -> Self:
        """Return the kind whose values have a dtype."""
        self = str.__new__(cls, value)
        self._value_, self.dtype, self.is_text = value, dtype, dtype == "str"
        self.is_code = self.is_text and value != "text"
        self.is_number = dtype in {"Int64", "Float64"}
        return self

    TEXT = "text"
    CODE = "code"
    CNPJ = "cnpj"
    CPF = "cpf"
    INTEGER = "integer", "Int64"
    NUMBER = "number", "Float64"
    MONEY = "money", "Float64"
    DATE = "date", "datetime64[us]"
    BOOLEAN = "boolean", "boolean"


INTEGER_LIMIT = 2**31 - 1
"""Largest integer of the interface."""

KIND_OF_DTYPE: dict[str, Kind] = {}
"""Default kinds of columns by their dtypes: the first declared one of each."""
for _kind in Kind:
    KIND_OF_DTYPE.setdefault(_kind.dtype, _kind)
