from .rehearsal import (
    RehearsalOptions as RehearsalOptions,
    run_rehearsal as run_rehearsal,
)
from .report import (
    rehearsal_json as rehearsal_json,
    rehearsal_text as rehearsal_text,
)
