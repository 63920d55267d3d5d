from .client import Client as Client
from .diagnosis import (
    DiagnosticCheck as DiagnosticCheck,
)
from .listings.records import Record as Record
from .outcomes import (
    Declined as Declined,
    Doubtful as Doubtful,
    Executed as Executed,
    NotExecuted as NotExecuted,
    Outcome as Outcome,
    Rejected as Rejected,
)
from .retry_policy import (
    RetryPolicy as RetryPolicy,
)
from .session import TokenFile as TokenFile
from .transport import (
    Target as Target,
    UploadFile as UploadFile,
    parse_base_url as parse_base_url,
)
