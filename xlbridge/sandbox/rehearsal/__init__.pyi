from .stand_ins import (
    CODE_COLUMNS as CODE_COLUMNS,
    REGISTRY_TITLES as REGISTRY_TITLES,
    StandIns as StandIns,
    own_code as own_code,
)
from .stored_rows import (
    Content as Content,
    StoredRows as StoredRows,
    key_of as key_of,
    read_sent_rows as read_sent_rows,
    read_stored_rows as read_stored_rows,
    replaces_rows as replaces_rows,
    table_name_of as table_name_of,
)
