from .finding import (
    SEVERITY_WORDS as SEVERITY_WORDS,
    CharacterMark as CharacterMark,
    CorrectedValue as CorrectedValue,
    Finding as Finding,
    FindingKind as FindingKind,
    Severity as Severity,
    character_name as character_name,
    error as error,
    mark_invisible as mark_invisible,
    mark_of as mark_of,
    show_invisible as show_invisible,
    warning as warning,
)
