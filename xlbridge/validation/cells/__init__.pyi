from .contents import (
    ColumnValues as ColumnValues,
    Positions as Positions,
    display as display,
    folded_text as folded_text,
)
from .text_parsing import date_meanings as date_meanings, number_meanings as number_meanings
from .typed_rows import (
    ColumnMemo as ColumnMemo,
    type_rows as type_rows,
)
