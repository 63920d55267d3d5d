from .archive import (
    LOCK_FILE_PREFIXES as LOCK_FILE_PREFIXES,
    file_content as file_content,
    require_xlsx as require_xlsx,
)
from .cells import (
    CellColumn as CellColumn,
    CellEncoder as CellEncoder,
    CellKind as CellKind,
    RawSheet as RawSheet,
    SheetCells as SheetCells,
)
from .messages import WorkbookCells as WorkbookCells, WorkbookSource as WorkbookSource
from .parser_process import start_parser_ahead as start_parser_ahead
from .reader import (
    cell_number_formats as cell_number_formats,
    prefetch_workbook as prefetch_workbook,
    read_in_process as read_in_process,
    read_workbook as read_workbook,
)
