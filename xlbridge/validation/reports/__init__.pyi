from .annotated_copy import annotate_sheets as annotate_sheets
from .html_report import report_html as report_html
from .json_report import (
    report_json as report_json,
    report_json_chunks as report_json_chunks,
)
from .text_report import report_text as report_text
