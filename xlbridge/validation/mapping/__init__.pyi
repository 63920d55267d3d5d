from .application import require_fitting as require_fitting
from .column_fit import foreign_columns as foreign_columns
from .mapping_file import (
    SheetMapping as SheetMapping,
    mapping_for as mapping_for,
    mapping_format as mapping_format,
    read_mapping as read_mapping,
    remember_mapping as remember_mapping,
    remembered_mappings as remembered_mappings,
)
from .proposal import (
    column_body as column_body,
)
from .proposed_mapping import (
    CONFIDENCE_WORDS as CONFIDENCE_WORDS,
    MappingProposal as MappingProposal,
    confirmed_mapping_text as confirmed_mapping_text,
    mapping_text as mapping_text,
    reason_text as reason_text,
)
from .sheet_proposal import propose_mapping as propose_mapping
