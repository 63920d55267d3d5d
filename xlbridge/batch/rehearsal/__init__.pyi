from .rehearsal import run_rehearsal as run_rehearsal
from .report import rehearsal_report as rehearsal_report, verdict_lines as verdict_lines
