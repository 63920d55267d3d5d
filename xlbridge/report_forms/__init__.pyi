from .forms import (
    PRINTABLE_FORMS as PRINTABLE_FORMS,
    ReportForms as ReportForms,
    render_page as render_page,
)
