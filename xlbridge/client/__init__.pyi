from .client import Client as Client
from .diagnosis import (
    DiagnosticCheck as DiagnosticCheck,
    diagnose_local as diagnose_local,
    diagnose_remote as diagnose_remote,
    failed_check as failed_check,
)
from .listing_answer import (
    ENVELOPE_NAMES as ENVELOPE_NAMES,
    ListingAnswer as ListingAnswer,
    is_plain_success as is_plain_success,
    shape_of as shape_of,
)
from .listing_stream import (
    ListingReader as ListingReader,
    ParseNumber as ParseNumber,
    Record as Record,
    RecordShape as RecordShape,
    TruncatedBody as TruncatedBody,
)
from .listings import (
    CompleteListing as CompleteListing,
    ListingCache as ListingCache,
    complete_listings_for as complete_listings_for,
    listing_cap as listing_cap,
    listing_parts as listing_parts,
)
from .outcomes import (
    Doubtful as Doubtful,
    Executed as Executed,
    NotExecuted as NotExecuted,
    Outcome as Outcome,
    Rejected as Rejected,
    is_json_or_empty as is_json_or_empty,
)
from .retry import RetryPolicy as RetryPolicy
from .session import TokenFile as TokenFile
from .target import (
    Target as Target,
    parse_base_url as parse_base_url,
)
from .transport import UploadFile as UploadFile
from .update_windows import (
    MINUTE as MINUTE,
    UNBOUNDED_WINDOW as UNBOUNDED_WINDOW,
    UPDATE_FIELD as UPDATE_FIELD,
    Window as Window,
    WindowSplitter as WindowSplitter,
    update_time as update_time,
)
