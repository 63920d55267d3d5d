from .stand_ins import (
    CODE_COLUMNS as CODE_COLUMNS,
    REGISTRY_TITLES as REGISTRY_TITLES,
    StandIns as StandIns,
    own_code as own_code,
)
from .stored_rows import (
    RowDigest as RowDigest,
    StoredRows as StoredRows,
    expected_row_digests as expected_row_digests,
    is_compared_by_content as is_compared_by_content,
    one_resource_per_table as one_resource_per_table,
    read_stored_rows as read_stored_rows,
    table_name_of as table_name_of,
)
