from .cells.column_cells import BoolArray as BoolArray
from .fixed_copy import write_fixed_copy as write_fixed_copy
from .headers.header_row import (
    find_header_row as find_header_row,
    match_header as match_header,
    normalise_header as normalise_header,
)
from .migration import migrate as migrate
from .options import (
    DateOrder as DateOrder,
    NumberStyle as NumberStyle,
    ParseOptions as ParseOptions,
)
from .pipeline import (
    ValidatedWorkbook as ValidatedWorkbook,
    ValidationRequest as ValidationRequest,
    validate_workbook as validate_workbook,
    warm_up as warm_up,
)
from .resource_rules import first_occurrences as first_occurrences
from .results import (
    RefusedFile as RefusedFile,
    ValidatedSheet as ValidatedSheet,
    ValidationResult as ValidationResult,
    is_ok as is_ok,
)
from .typed_rows import (
    OnColumn as OnColumn,
    type_rows as type_rows,
)
