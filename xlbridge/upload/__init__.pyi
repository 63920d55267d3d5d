from .bulk_lookup import look_up_rows as look_up_rows
from .consent import (
    ApproveAll as ApproveAll,
    Confirmed as Confirmed,
    Consent as Consent,
    ConsentRequest as ConsentRequest,
)
from .context import (
    RequestedMode as RequestedMode,
    UploadContext as UploadContext,
    UploadOptions as UploadOptions,
    choose_mode as choose_mode,
    open_context as open_context,
)
from .evidence import write_evidence as write_evidence
from .job import (
    UNSENT as UNSENT,
    Job as Job,
    State as State,
)
from .journal import (
    Journal as Journal,
    open_journal_file as open_journal_file,
)
from .lookup import (
    RowValues as RowValues,
    comparable_value as comparable_value,
)
from .manual_resolution import Resolution as Resolution
from .online_check import (
    OnlineCheck as OnlineCheck,
    Registries as Registries,
)
from .payload import (
    load_payload as load_payload,
    row_digests as row_digests,
    sent_rows as sent_rows,
    sheet_digest as sheet_digest,
)
from .report import (
    is_rejects_name as is_rejects_name,
    job_json as job_json,
    job_lines as job_lines,
    job_list_json as job_list_json,
    lacks_evidence as lacks_evidence,
    short_path as short_path,
)
from .retry import (
    CorrectedRows as CorrectedRows,
    NotRetriable as NotRetriable,
    corrected_rows as corrected_rows,
    require_rejected as require_rejected,
    sent_digests as sent_digests,
)
from .snapshot import (
    BEFORE as BEFORE,
    FoundRecord as FoundRecord,
    RowSnapshot as RowSnapshot,
    Snapshot as Snapshot,
    snapshot_from_json as snapshot_from_json,
)
from .status_copy import (
    store_remote_codes as store_remote_codes,
    write_status_copy as write_status_copy,
)
from .uploads import (
    Uploads as Uploads,
    require_profile as require_profile,
    resolve_job as resolve_job,
)
from .verdict import (
    RowOutcome as RowOutcome,
    Verdict as Verdict,
    row_outcomes as row_outcomes,
    verdict_of as verdict_of,
)
