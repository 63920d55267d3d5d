from .consent import (
    ApproveAll as ApproveAll,
    Confirmed as Confirmed,
    Consent as Consent,
    ConsentRequest as ConsentRequest,
    reason_lines as reason_lines,
)
from .corrected_rows import (
    CorrectedRows as CorrectedRows,
    NotRetriable as NotRetriable,
    corrected_rows as corrected_rows,
    has_sent_rows as has_sent_rows,
    require_rejected as require_rejected,
)
from .plan_builder import may_be_sent as may_be_sent
from .planned_row import PlannedRow as PlannedRow
from .row_reasons import (
    ACTION_COUNTS as ACTION_COUNTS,
    RowAction as RowAction,
    RowReason as RowReason,
)
