from .catalogue import (
    CATALOGUE as CATALOGUE,
)
from .finding import (
    SEVERITY_WORDS as SEVERITY_WORDS,
)
from .finding import (
    CorrectedValue as CorrectedValue,
)
from .finding import (
    Finding as Finding,
)
from .finding import (
    FindingKind as FindingKind,
)
from .finding import (
    Severity as Severity,
)
from .invisible import (
    CharacterMark as CharacterMark,
)
from .invisible import (
    character_name as character_name,
)
from .invisible import (
    mark_invisible as mark_invisible,
)
from .invisible import (
    mark_of as mark_of,
)
from .invisible import (
    show_invisible as show_invisible,
)
