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
    FileKind as FileKind,
    is_zip as is_zip,
    kind_of_file as kind_of_file,
    require_xlsx as require_xlsx,
)
from .messages import (
    PendingWorkbook as PendingWorkbook,
    WorkbookCells as WorkbookCells,
    WorkbookSource as WorkbookSource,
    assemble_workbook as assemble_workbook,
)
from .number_formats import (
    DATE_PARTS as DATE_PARTS,
    cell_number_formats as cell_number_formats,
    foreign_currency as foreign_currency,
    scale_factor as scale_factor,
    shown_date_parts as shown_date_parts,
)
from .parser_start import start_parser_ahead as start_parser_ahead
from .parsing import parse_file as parse_file
from .reader import (
    MEMORY_LIMITS_ENFORCED as MEMORY_LIMITS_ENFORCED,
    prefetch_workbook as prefetch_workbook,
    read_workbook as read_workbook,
)
from .shown_values import (
    Shown as Shown,
    changes_texts as changes_texts,
    may_show_otherwise as may_show_otherwise,
    number_shown_as as number_shown_as,
    shown_number as shown_number,
    shown_text as shown_text,
)
