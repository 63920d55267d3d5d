from .database import (
    Storage as Storage,
)
from .engines import (
    POOL_SIZE as POOL_SIZE,
)
from .engines import (
    database_url as database_url,
)
from .engines import (
    redacted_url as redacted_url,
)
from .failures import (
    TRANSIENT_ERRORS as TRANSIENT_ERRORS,
)
from .failures import (
    is_busy as is_busy,
)
from .failures import (
    translate_database_errors as translate_database_errors,
)
