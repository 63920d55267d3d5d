from .consent import (
    ApproveAll as ApproveAll,
    Confirmed as Confirmed,
    Consent as Consent,
    ConsentRequest as ConsentRequest,
    process_plan_report as process_plan_report,
    reason_table as reason_table,
    token_line as token_line,
)
from .corrected_rows import (
    CorrectedRows as CorrectedRows,
    NotRetriable as NotRetriable,
)
from .plan_builder import (
    PlannedSheet as PlannedSheet,
    may_be_sent as may_be_sent,
)
from .planned_row import (
    PlannedRow as PlannedRow,
    RowAction as RowAction,
    RowReason as RowReason,
    action_counts as action_counts,
)
