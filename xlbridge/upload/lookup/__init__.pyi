from .bulk_lookup import look_up_rows as look_up_rows
from .online_check import (
    OnlineCheck as OnlineCheck,
    Registries as Registries,
)
from .row_lookup import comparable_value as comparable_value
from .snapshot import (
    FoundRecord as FoundRecord,
    RowSnapshot as RowSnapshot,
)
