from .rehearsal import (
    RehearsalOptions as RehearsalOptions,
    run_rehearsal as run_rehearsal,
)
from .report import verdict_lines as verdict_lines
from .report_page import rehearsal_report as rehearsal_report
