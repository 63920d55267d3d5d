from .found_tables import (
    FoundTable as FoundTable,
    find_tables as find_tables,
    with_data as with_data,
)
from .refreshed_rows import RefreshedTable as RefreshedTable
