from .cells.text_parsing import (
    date_meanings as date_meanings,
    number_meanings as number_meanings,
)
from .child_sheets import (
    child_cells as child_cells,
)
from .fixed_copy import (
    fix_workbook as fix_workbook,
)
from .migration import migrate as migrate
from .pipeline import (
    blank_children as blank_children,
    catalogue_for as catalogue_for,
    validate_file as validate_file,
    validate_sheets as validate_sheets,
    validate_workbook as validate_workbook,
    warm_up as warm_up,
)
from .request import (
    ColumnProgress as ColumnProgress,
    DateOrder as DateOrder,
    NumberStyle as NumberStyle,
    ParseOptions as ParseOptions,
    ValidationRequest as ValidationRequest,
)
from .results import (
    RefusedFile as RefusedFile,
    ValidatedSheet as ValidatedSheet,
    ValidationResult as ValidationResult,
    positions_of_keys as positions_of_keys,
)
from .schema_proposal import propose_schema as propose_schema
from .sheet_findings import (
    count_corrected as count_corrected,
    first_occurrences as first_occurrences,
    row_numbers as row_numbers,
)
from .text import display as display
from .typed_rows import (
    ColumnMemo as ColumnMemo,
    type_rows as type_rows,
)
