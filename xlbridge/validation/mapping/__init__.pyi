from .application import require_fitting as require_fitting
from .mapping_file import (
    mapping_format as mapping_format,
    read_mapping as read_mapping,
)
from .model import SheetMapping as SheetMapping
from .proposal import (
    Confidence as Confidence,
    MappingProposal as MappingProposal,
)
from .proposed_file import (
    CONFIDENCE_WORDS as CONFIDENCE_WORDS,
    mapping_text as mapping_text,
    propose_mapping as propose_mapping,
)
from .remembered import (
    mapping_for as mapping_for,
    remember_mapping as remember_mapping,
    remembered_mappings as remembered_mappings,
)
