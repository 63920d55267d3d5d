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
from .job import (
    Job as Job,
    Resolution as Resolution,
    State as State,
    is_rejects_name as is_rejects_name,
)
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
from .planned_row import (
    ACTION_COUNTS as ACTION_COUNTS,
    PlannedRow as PlannedRow,
    RowAction as RowAction,
    RowReason as RowReason,
)
from .undo import (
    create_undo as create_undo,
    left_lines as left_lines,
)
from .uploads import Uploads as Uploads
