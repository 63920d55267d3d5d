from .client import (
    Client as Client,
)
from .diagnosis import (
    DiagnosticCheck as DiagnosticCheck,
)
from .diagnosis import (
    diagnose_local as diagnose_local,
)
from .diagnosis import (
    diagnose_remote as diagnose_remote,
)
from .diagnosis import (
    failed_check as failed_check,
)
from .listing_answer import (
    ENVELOPE_NAMES as ENVELOPE_NAMES,
)
from .listing_answer import (
    ListingAnswer as ListingAnswer,
)
from .listing_answer import (
    is_plain_success as is_plain_success,
)
from .listing_answer import (
    shape_of as shape_of,
)
from .listing_stream import (
    ListingReader as ListingReader,
)
from .listing_stream import (
    ParseNumber as ParseNumber,
)
from .listing_stream import (
    Record as Record,
)
from .listing_stream import (
    RecordShape as RecordShape,
)
from .listing_stream import (
    TruncatedBody as TruncatedBody,
)
from .listings import (
    CompleteListing as CompleteListing,
)
from .listings import (
    ListingCache as ListingCache,
)
from .listings import (
    complete_listings_for as complete_listings_for,
)
from .listings import (
    listing_cap as listing_cap,
)
from .listings import (
    listing_parts as listing_parts,
)
from .outcomes import (
    Doubtful as Doubtful,
)
from .outcomes import (
    Executed as Executed,
)
from .outcomes import (
    NotExecuted as NotExecuted,
)
from .outcomes import (
    Outcome as Outcome,
)
from .outcomes import (
    Rejected as Rejected,
)
from .outcomes import (
    is_json_or_empty as is_json_or_empty,
)
from .retry import (
    RetryPolicy as RetryPolicy,
)
from .session import (
    TokenFile as TokenFile,
)
from .target import (
    Target as Target,
)
from .target import (
    parse_base_url as parse_base_url,
)
from .transport import (
    UploadFile as UploadFile,
)
from .update_windows import (
    MINUTE as MINUTE,
)
from .update_windows import (
    UNBOUNDED_WINDOW as UNBOUNDED_WINDOW,
)
from .update_windows import (
    UPDATE_FIELD as UPDATE_FIELD,
)
from .update_windows import (
    Window as Window,
)
from .update_windows import (
    WindowSplitter as WindowSplitter,
)
from .update_windows import (
    update_time as update_time,
)
