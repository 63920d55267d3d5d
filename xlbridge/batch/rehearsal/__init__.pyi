from .rehearsal import (
    RehearsalOptions as RehearsalOptions,
    run_rehearsal as run_rehearsal,
)
from .report import (
    rehearsal_json as rehearsal_json,
    rehearsal_text as rehearsal_text,
    verdict_lines as verdict_lines,
)
from .report_page import rehearsal_page as rehearsal_page
