from .control_totals import ControlTotals as ControlTotals
from .report import (
    history_table as history_table,
    job_json as job_json,
    jobs_table as jobs_table,
)
from .result_files import (
    ensure_evidence as ensure_evidence,
    job_document as job_document,
    job_report as job_report,
)
from .row_ledger import (
    ROW_COUNTS as ROW_COUNTS,
    RowChange as RowChange,
    RowLedger as RowLedger,
    row_counts as row_counts,
)
from .status_copy import (
    SheetCodes as SheetCodes,
    codes_of_sheet as codes_of_sheet,
    write_status_copy as write_status_copy,
)
