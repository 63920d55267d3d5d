from .consent import (
    ApproveAll as ApproveAll,
    Confirmed as Confirmed,
    Consent as Consent,
    ConsentRequest as ConsentRequest,
    reason_lines as reason_lines,
)
from .context import (
    UploadContext as UploadContext,
    known_numbers as known_numbers,
    open_context as open_context,
)
from .corrected_rows import (
    CorrectedRows as CorrectedRows,
    NotRetriable as NotRetriable,
    corrected_rows as corrected_rows,
    has_sent_rows as has_sent_rows,
    require_rejected as require_rejected,
)
from .evidence import ensure_evidence as ensure_evidence
from .job import (
    Job as Job,
    Resolution as Resolution,
    State as State,
    is_rejects_name as is_rejects_name,
)
from .job_report import job_report as job_report
from .journal import Journal as Journal
from .journal_file import accept_journal as accept_journal, is_expected as is_expected
from .manual_resolution import resolve_job as resolve_job
from .options import (
    RequestedMode as RequestedMode,
    UploadOptions as UploadOptions,
    choose_mode as choose_mode,
)
from .payload import (
    ItemCells as ItemCells,
    load_payload as load_payload,
    planned_rows as planned_rows,
    sent_rows as sent_rows,
)
from .plan_builder import may_be_sent as may_be_sent
from .report import (
    job_headline as job_headline,
    job_json as job_json,
    job_lines as job_lines,
    mode_name as mode_name,
    state_name as state_name,
)
from .retried_rows import (
    outcomes_with_retries as outcomes_with_retries,
    settled_rows as settled_rows,
    with_retries as with_retries,
)
from .row_plan import (
    ACTION_COUNTS as ACTION_COUNTS,
    PlannedRow as PlannedRow,
    RowAction as RowAction,
    RowPlan as RowPlan,
    RowReason as RowReason,
)
from .sheet_codes import SheetCodes as SheetCodes
from .status_copy import (
    given_codes as given_codes,
    require_unchanged as require_unchanged,
    row_statuses as row_statuses,
    write_status_copy as write_status_copy,
)
from .undo import (
    create_undo as create_undo,
    left_lines as left_lines,
)
from .uploads import Uploads as Uploads
from .verdict import (
    RowOutcome as RowOutcome,
    Verdict as Verdict,
)
