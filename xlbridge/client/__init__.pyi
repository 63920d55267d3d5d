from .client import Client as Client
from .diagnosis import (
    DiagnosticCheck as DiagnosticCheck,
    diagnose_local as diagnose_local,
    diagnose_remote as diagnose_remote,
)
from .listings.stream import Record as Record
from .outcomes import (
    Declined as Declined,
    Doubtful as Doubtful,
    Executed as Executed,
    NotExecuted as NotExecuted,
    Outcome as Outcome,
    Rejected as Rejected,
)
from .retry_policy import (
    QUICK_CHECK_POLICY as QUICK_CHECK_POLICY,
    RetryPolicy as RetryPolicy,
)
from .session import TokenFile as TokenFile
from .transport import (
    Target as Target,
    UploadFile as UploadFile,
    parse_base_url as parse_base_url,
)
