from .archive import (
    WorkbookArchive as WorkbookArchive,
    file_content as file_content,
)
from .cells import (
    CellColumn as CellColumn,
    CellEncoder as CellEncoder,
    CellKind as CellKind,
    RawSheet as RawSheet,
    SheetCells as SheetCells,
)
from .file_kind import (
    LOCK_FILE_PREFIXES as LOCK_FILE_PREFIXES,
    is_zip as is_zip,
    require_xlsx as require_xlsx,
)
from .messages import (
    PendingWorkbook as PendingWorkbook,
    WorkbookCells as WorkbookCells,
    WorkbookSource as WorkbookSource,
    assemble_workbook as assemble_workbook,
)
from .parser_start import start_parser_ahead as start_parser_ahead
from .parsing import parse_file as parse_file
from .reader import (
    MEMORY_LIMITS_ENFORCED as MEMORY_LIMITS_ENFORCED,
    cell_number_formats as cell_number_formats,
    prefetch_workbook as prefetch_workbook,
    read_workbook as read_workbook,
)
