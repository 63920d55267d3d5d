from .rehearsal import run_rehearsal as run_rehearsal
from .report import (
    REHEARSAL_TITLE as REHEARSAL_TITLE,
    rehearsal_report as rehearsal_report,
    verdict_lines as verdict_lines,
)
