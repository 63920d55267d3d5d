from .address import (
    MAX_ROWS as MAX_ROWS,
    MAX_TEXT_LENGTH as MAX_TEXT_LENGTH,
    CellPosition as CellPosition,
    CellRange as CellRange,
    cell_address as cell_address,
    cell_position as cell_position,
    column_index as column_index,
    column_letters as column_letters,
    escape_text as escape_text,
)
from .overwriting import (
    ANNOTATED as ANNOTATED,
    EXPORTED as EXPORTED,
    PROVEN as PROVEN,
    require_no_archive as require_no_archive,
    require_own as require_own,
    require_unedited as require_unedited,
)
from .signature import (
    COVER_MOMENT as COVER_MOMENT,
    COVER_SHEET as COVER_SHEET,
    EXPORT_PROPERTY as EXPORT_PROPERTY,
    PROOF_PROPERTY as PROOF_PROPERTY,
    REJECTS_COLUMNS as REJECTS_COLUMNS,
    STATUS_COLUMNS as STATUS_COLUMNS,
)
from .style import (
    NUMBER_FORMATS as NUMBER_FORMATS,
    QUIET as QUIET,
    STRONG as STRONG,
)
