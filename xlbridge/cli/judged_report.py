"""Printing what was judged, or writing it to a file, in the form that was asked for."""

import json
from collections.abc import Sequence
from pathlib import Path

from xlbridge.cli.output import remark, result, result_json
from xlbridge.i18n import Text
from xlbridge.validation.reports.html_report import report_html
from xlbridge.validation.reports.json_report import report_json
from xlbridge.validation.reports.judged import Judged
from xlbridge.validation.reports.text_report import report_text
from xlbridge.workbook.atomic import replacing


def write_report(
    judged: Sequence[Judged], form: str, output: Path | None, limit: int | None
) -> None:
    """Print the report as ``text``, ``json`` or ``html``, or write it to ``output``.

    Raises ``UsageError`` when the file cannot be written.
    """
    if output is None and form == "json":
        result_json(report_json(judged, limit))
    elif output is None and form == "html":
        result(report_html(judged, limit))
    elif output is None:
        for line in report_text(judged, limit):
            result(line)
    else:
        with replacing(output) as temporary:
            temporary.write_text(_content(judged, form, limit), encoding="utf-8")
        remark(Text(pt="Relatório em {f}", en="Report in {f}").format(f=output))


def _content(judged: Sequence[Judged], form: str, limit: int | None) -> str:
    if form == "json":
        return json.dumps(report_json(judged, limit), ensure_ascii=False) + "\n"
    if form == "html":
        return report_html(judged, limit)
    return "".join(f"{line}\n" for line in report_text(judged, limit))
