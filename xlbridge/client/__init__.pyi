from .client import Client as Client
from .diagnosis import (
    DiagnosticCheck as DiagnosticCheck,
    read_system_info as read_system_info,
)
from .listing_stream import Record as Record
from .outcomes import (
    Declined as Declined,
    Doubtful as Doubtful,
    Executed as Executed,
    NotExecuted as NotExecuted,
    Outcome as Outcome,
    Rejected as Rejected,
)
from .session import Target as Target, TokenFile as TokenFile
from .transport import (
    RetryPolicy as RetryPolicy,
    UploadFile as UploadFile,
    parse_base_url as parse_base_url,
)
