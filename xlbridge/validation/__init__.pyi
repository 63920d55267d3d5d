from .cells.column_cells import (
    BoolArray as BoolArray,
)
from .fixed_copy import (
    write_fixed_copy as write_fixed_copy,
)
from .headers.header_row import (
    find_header_row as find_header_row,
)
from .headers.header_row import (
    match_header as match_header,
)
from .headers.header_row import (
    normalise_header as normalise_header,
)
from .migration import (
    migrate as migrate,
)
from .options import (
    DateOrder as DateOrder,
)
from .options import (
    NumberStyle as NumberStyle,
)
from .options import (
    ParseOptions as ParseOptions,
)
from .pipeline import (
    ValidatedWorkbook as ValidatedWorkbook,
)
from .pipeline import (
    ValidationRequest as ValidationRequest,
)
from .pipeline import (
    validate_workbook as validate_workbook,
)
from .pipeline import (
    warm_up as warm_up,
)
from .resource_rules import (
    first_occurrences as first_occurrences,
)
from .results import (
    RefusedFile as RefusedFile,
)
from .results import (
    ValidatedSheet as ValidatedSheet,
)
from .results import (
    ValidationResult as ValidationResult,
)
from .results import (
    is_ok as is_ok,
)
from .typed_rows import (
    OnColumn as OnColumn,
)
from .typed_rows import (
    type_rows as type_rows,
)
