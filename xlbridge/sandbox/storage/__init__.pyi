from .database import Storage as Storage
from .engines import (
    POOL_SIZE as POOL_SIZE,
    database_url as database_url,
    redacted_url as redacted_url,
)
from .failures import (
    TRANSIENT_ERRORS as TRANSIENT_ERRORS,
    is_busy as is_busy,
    translate_database_errors as translate_database_errors,
)
