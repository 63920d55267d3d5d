from .database import Storage as Storage
from .engines import (
    POOL_SIZE as POOL_SIZE,
    TRANSIENT_ERRORS as TRANSIENT_ERRORS,
    database_url as database_url,
    is_busy as is_busy,
    redacted_url as redacted_url,
    translate_database_errors as translate_database_errors,
)
