from .archive import (
    WorkbookArchive as WorkbookArchive,
)
from .archive import (
    file_content as file_content,
)
from .cells import (
    CellColumn as CellColumn,
)
from .cells import (
    CellEncoder as CellEncoder,
)
from .cells import (
    CellKind as CellKind,
)
from .cells import (
    RawSheet as RawSheet,
)
from .cells import (
    SheetCells as SheetCells,
)
from .number_formats import (
    cell_number_formats as cell_number_formats,
)
from .number_formats import (
    foreign_currency as foreign_currency,
)
from .number_formats import (
    shown_number as shown_number,
)
from .parsing import (
    parse_workbook as parse_workbook,
)
from .reader import (
    MEMORY_LIMITS_ENFORCED as MEMORY_LIMITS_ENFORCED,
)
from .reader import (
    PendingWorkbook as PendingWorkbook,
)
from .reader import (
    WorkbookCells as WorkbookCells,
)
from .reader import (
    WorkbookSource as WorkbookSource,
)
from .reader import (
    assemble_workbook as assemble_workbook,
)
from .reader import (
    prefetch_workbook as prefetch_workbook,
)
from .reader import (
    read_workbook as read_workbook,
)
