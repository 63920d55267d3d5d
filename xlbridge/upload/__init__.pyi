from .bulk_lookup import (
    look_up_rows as look_up_rows,
)
from .consent import (
    confirmation_token as confirmation_token,
)
from .consent import (
    plan_lines as plan_lines,
)
from .consent import (
    require_confirmation as require_confirmation,
)
from .context import (
    ModeChoice as ModeChoice,
)
from .context import (
    RequestedMode as RequestedMode,
)
from .context import (
    RunOptions as RunOptions,
)
from .context import (
    UploadContext as UploadContext,
)
from .context import (
    choose_mode as choose_mode,
)
from .evidence import (
    write_evidence as write_evidence,
)
from .job import (
    UNSENT as UNSENT,
)
from .job import (
    Job as Job,
)
from .job import (
    State as State,
)
from .journal import (
    Journal as Journal,
)
from .journal import (
    open_journal_file as open_journal_file,
)
from .lookup import (
    RowValues as RowValues,
)
from .lookup import (
    comparable_value as comparable_value,
)
from .lookup import (
    rows_of as rows_of,
)
from .manual_resolution import (
    Resolution as Resolution,
)
from .online_check import (
    OnlineCheck as OnlineCheck,
)
from .online_check import (
    Registries as Registries,
)
from .payload import (
    load_payload as load_payload,
)
from .payload import (
    payload_frame as payload_frame,
)
from .payload import (
    row_digests as row_digests,
)
from .payload import (
    sheet_digest as sheet_digest,
)
from .report import (
    is_rejects_name as is_rejects_name,
)
from .report import (
    job_json as job_json,
)
from .report import (
    job_lines as job_lines,
)
from .report import (
    job_list_json as job_list_json,
)
from .report import (
    lacks_evidence as lacks_evidence,
)
from .report import (
    short_path as short_path,
)
from .retry import (
    CorrectedRows as CorrectedRows,
)
from .retry import (
    corrected_rows as corrected_rows,
)
from .retry import (
    require_rejected as require_rejected,
)
from .retry import (
    sent_digests as sent_digests,
)
from .snapshot import (
    BEFORE as BEFORE,
)
from .snapshot import (
    FoundRecord as FoundRecord,
)
from .snapshot import (
    RowSnapshot as RowSnapshot,
)
from .snapshot import (
    Snapshot as Snapshot,
)
from .snapshot import (
    snapshot_from_json as snapshot_from_json,
)
from .status_copy import (
    store_remote_codes as store_remote_codes,
)
from .status_copy import (
    write_status_copy as write_status_copy,
)
from .uploads import (
    create_job as create_job,
)
from .uploads import (
    invalid_sheet_json as invalid_sheet_json,
)
from .uploads import (
    require_profile as require_profile,
)
from .uploads import (
    resolve_job as resolve_job,
)
from .uploads import (
    run_job as run_job,
)
from .verdict import (
    RowOutcome as RowOutcome,
)
from .verdict import (
    Verdict as Verdict,
)
from .verdict import (
    row_outcomes as row_outcomes,
)
from .verdict import (
    verdict_of as verdict_of,
)
