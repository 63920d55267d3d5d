from .stand_ins import (
    CODE_COLUMNS as CODE_COLUMNS,
)
from .stand_ins import (
    NAMED_BY as NAMED_BY,
)
from .stand_ins import (
    REGISTRY_TITLES as REGISTRY_TITLES,
)
from .stand_ins import (
    StandIns as StandIns,
)
from .stored_rows import (
    RowDigest as RowDigest,
)
from .stored_rows import (
    StoredRows as StoredRows,
)
from .stored_rows import (
    expected_row_digests as expected_row_digests,
)
from .stored_rows import (
    one_resource_per_table as one_resource_per_table,
)
from .stored_rows import (
    read_stored_rows as read_stored_rows,
)
from .stored_rows import (
    table_name_of as table_name_of,
)
