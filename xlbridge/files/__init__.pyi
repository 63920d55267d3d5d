from .atomic import (
    replace_atomically as replace_atomically,
)
from .atomic import (
    report_write_errors as report_write_errors,
)
from .atomic import (
    require_distinct as require_distinct,
)
from .atomic import (
    require_new as require_new,
)
from .atomic import (
    write_private as write_private,
)
from .locks import (
    file_lock as file_lock,
)
from .locks import (
    lock_or_fail as lock_or_fail,
)
from .sqlite import (
    LocalDatabase as LocalDatabase,
)
from .sqlite import (
    open_local_database as open_local_database,
)
