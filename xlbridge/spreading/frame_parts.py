"""The typed columns of a sheet as plain data: bytes and texts, and no objects of pandas."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

_CARRIED = {"Int64": "int64", "Float64": "float64", "boolean": "bool", "datetime64[us]": "int64"}
"""How the values of each dtype that a column may have are carried; texts are as they are."""


@dataclass(frozen=True, slots=True)
class ColumnParts:
    """A column: its texts with None where there is none, or values and where they are missing."""

    name: str
    dtype: str
    texts: list[str | None] | None = field(default=None, repr=False)
    values: bytes = field(default=b"", repr=False)
    missing: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, column: pd.Series) -> "ColumnParts":
        """Take a column apart."""
        name, dtype, missing = str(column.name), str(column.dtype), column.isna().to_numpy()
        if dtype == "str":
            texts = [None if gone else text for text, gone in zip(column, missing, strict=True)]
            return cls(name, dtype, texts=texts)
        if dtype == "datetime64[us]":
            values: Any = column.to_numpy().view("int64")
        else:
            values = column.to_numpy(dtype=_CARRIED[dtype], na_value=0)
        return cls(name, dtype, values=values.tobytes(), missing=missing.tobytes())

    def column(self) -> Any:
        """Put the column together."""
        if self.texts is not None:
            return pd.array(self.texts, dtype=self.dtype)  # type: ignore[call-overload]
        values = np.frombuffer(self.values, dtype=_CARRIED[self.dtype]).copy()
        if self.dtype == "datetime64[us]":
            return values.view("datetime64[us]")
        made = pd.array(values, dtype=self.dtype)  # type: ignore[call-overload]
        made[np.frombuffer(self.missing, dtype=bool)] = pd.NA
        return made


def frame_parts(frame: pd.DataFrame) -> list[ColumnParts]:
    """Take a frame with a RangeIndex apart."""
    return [ColumnParts.of(frame[name]) for name in frame.columns]


def frame_of(parts: list[ColumnParts], rows: int) -> pd.DataFrame:
    """Put a frame of so many rows together."""
    columns = {part.name: part.column() for part in parts}
    return pd.DataFrame(columns, index=pd.RangeIndex(rows))
