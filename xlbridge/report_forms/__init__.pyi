from .forms import (
    PRINTABLE_FORMS as PRINTABLE_FORMS,
    ReportForms as ReportForms,
    render_page as render_page,
)
from .report import (
    Grade as Grade,
    Heading as Heading,
    Line as Line,
    Report as Report,
    Table as Table,
    Tone as Tone,
    Value as Value,
    group_by_reason as group_by_reason,
    grouped_number as grouped_number,
    list_first as list_first,
    more_text as more_text,
    value_text as value_text,
)
