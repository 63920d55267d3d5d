from . import style as style
from .address import (
    MAX_ROWS as MAX_ROWS,
    MAX_TEXT_LENGTH as MAX_TEXT_LENGTH,
    CellPosition as CellPosition,
    cell_address as cell_address,
    cell_position as cell_position,
    column_index as column_index,
    column_letters as column_letters,
    escape_text as escape_text,
)
from .signature import (
    COVER_SHEET as COVER_SHEET,
    COVER_TITLE as COVER_TITLE,
    REJECTS_COLUMNS as REJECTS_COLUMNS,
    STATUS_COLUMNS as STATUS_COLUMNS,
    WorkbookMark as WorkbookMark,
    WorkbookOrigin as WorkbookOrigin,
)
