from .cell_findings import (
    CharacterMark as CharacterMark,
    character_name as character_name,
    mark_invisible as mark_invisible,
    mark_of as mark_of,
    show_invisible as show_invisible,
)
from .finding import (
    SEVERITY_WORDS as SEVERITY_WORDS,
    CorrectedValue as CorrectedValue,
    Finding as Finding,
    FindingKind as FindingKind,
    Severity as Severity,
    error as error,
    warning as warning,
)
