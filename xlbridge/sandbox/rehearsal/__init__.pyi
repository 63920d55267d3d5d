from .stand_ins import (
    CODE_COLUMNS as CODE_COLUMNS,
    REGISTRY_TITLES as REGISTRY_TITLES,
    StandIns as StandIns,
    StoredRows as StoredRows,
    own_code as own_code,
    read_stored_rows as read_stored_rows,
    replaces_rows as replaces_rows,
    table_name_of as table_name_of,
)
