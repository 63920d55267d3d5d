from .header_row import (
    find_header_row as find_header_row,
    header_key as header_key,
    key_column as key_column,
    match_header as match_header,
)
from .sheet_choice import (
    NoFittingResource as NoFittingResource,
    child_cells as child_cells,
)
