from .edited_copies import fix_workbook as fix_workbook, migrate as migrate
from .pipeline import (
    blank_children as blank_children,
    validate_file as validate_file,
    validate_sheets as validate_sheets,
    validate_workbook as validate_workbook,
)
from .request import (
    AcceptedFindings as AcceptedFindings,
    ColumnProgress as ColumnProgress,
    ValidationRequest as ValidationRequest,
)
from .results import (
    RefusedFile as RefusedFile,
    ValidatedSheet as ValidatedSheet,
    ValidationResult as ValidationResult,
)
from .schema_proposal import propose_schema as propose_schema
from .sheet_findings import count_corrected as count_corrected, row_numbers as row_numbers
