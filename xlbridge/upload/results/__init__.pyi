from .job_report import job_report as job_report
from .report import (
    job_headline as job_headline,
    job_json as job_json,
    job_lines as job_lines,
    mode_name as mode_name,
    state_text as state_text,
)
from .result_files import ensure_evidence as ensure_evidence
from .row_ledger import (
    RowChange as RowChange,
    RowLedger as RowLedger,
    row_counts as row_counts,
)
from .status_copy import (
    assigned_codes as assigned_codes,
    codes_of_sheet as codes_of_sheet,
    require_unchanged as require_unchanged,
    row_statuses as row_statuses,
    write_status_copy as write_status_copy,
)
from .verdict import RowOutcome as RowOutcome, Verdict as Verdict
