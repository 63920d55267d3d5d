from .job_report import job_report as job_report
from .report import (
    job_headline as job_headline,
    job_json as job_json,
    job_lines as job_lines,
    mode_name as mode_name,
)
from .result_files import ensure_evidence as ensure_evidence
from .retried_rows import (
    later_rows as later_rows,
    outcomes_with_retries as outcomes_with_retries,
    with_retries as with_retries,
)
from .status_copy import (
    assigned_codes as assigned_codes,
    require_unchanged as require_unchanged,
    row_statuses as row_statuses,
    write_status_copy as write_status_copy,
)
from .verdict import RowOutcome as RowOutcome, Verdict as Verdict
