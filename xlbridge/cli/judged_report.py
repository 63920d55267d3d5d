"""Printing what was judged, or writing it to a file, in the form that was asked for."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from xlbridge.cli.output import remark, result, result_json, result_pieces
from xlbridge.cli.terminal import for_stream
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.validation.reports.html_report import report_html
from xlbridge.validation.reports.json_report import json_pieces, report_json
from xlbridge.validation.reports.judged import Judged
from xlbridge.validation.reports.text_report import report_text
from xlbridge.workbook.atomic import replacing


def write_report(
    judged: Sequence[Judged], form: str, output: Path | None, limit: int | None
) -> None:
    """Print the report as ``text``, ``json`` or ``html``, or write it to ``output``.

    Raises ``UsageError`` when the file cannot be written; the report is printed then, a page as
    text.
    """
    if output is not None:
        try:
            _write(judged, form, output, limit)
        except UsageError:
            write_report(judged, "text" if form == "html" else form, None, limit)
            raise
    elif form == "json" and sys.stdout.isatty():
        result_json(report_json(judged, limit))
    elif form == "json":
        result_pieces(json_pieces(judged, limit))
    elif form == "html":
        result(report_html(judged, limit))
    else:
        for line in for_stream(report_text(judged, limit), sys.stdout):
            result(line)


def _write(judged: Sequence[Judged], form: str, output: Path, limit: int | None) -> None:
    with replacing(output) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines(_content(judged, form, limit))
    remark(Text(pt="Relatório em {f}", en="Report in {f}").format(f=output))


def _content(judged: Sequence[Judged], form: str, limit: int | None) -> Iterator[str]:
    if form == "json":
        yield from json_pieces(judged, limit)
        yield "\n"
    elif form == "html":
        yield report_html(judged, limit)
    else:
        yield from (f"{line}\n" for line in report_text(judged, limit))
