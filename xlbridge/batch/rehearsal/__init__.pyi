from .rehearsal import (
    RehearsalOptions as RehearsalOptions,
)
from .rehearsal import (
    run_rehearsal as run_rehearsal,
)
from .report import (
    rehearsal_json as rehearsal_json,
)
from .report import (
    rehearsal_text as rehearsal_text,
)
from .result import (
    RehearsalResult as RehearsalResult,
)
