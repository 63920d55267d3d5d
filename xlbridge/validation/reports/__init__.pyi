from .forms import report_forms as report_forms
from .model import (
    Report as Report,
    RuleKey as RuleKey,
    by_rule as by_rule,
    message_of_all as message_of_all,
    without_cells as without_cells,
)
