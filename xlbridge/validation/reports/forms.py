"""Forms of the validation report: text, JSON, a page, an annotated copy of its workbook.

Text and JSON are rendered here; the modules of page and copy are imported on demand.
Source: the product brief, ``validate``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from xlbridge.i18n import Text
from xlbridge.report_forms import ReportForms, list_first, more_text
from xlbridge.resources.findings import Finding, Severity
from xlbridge.validation.cells.text import quoted
from xlbridge.validation.reports.model import (
    Report,
    by_rule,
    fixes_text,
    is_truncated,
    listed_findings,
    rule_key,
    summary,
    widespread_cells,
)
from xlbridge.validation.results import FixedCopy, RefusedFile, SkippedSheet, ValidatedSheet

_CHUNK = 4096
_MAX_CACHED = 4096
_NO_FINDINGS = '"findings": []'

_text = json.JSONEncoder(ensure_ascii=False).encode


def report_forms(report: Report, verdict: Text | None = None) -> ReportForms:
    """Return the forms of a report; ``verdict`` is that of the text, by default the total."""

    def lines() -> Iterator[str]:
        yield from report_lines(report)
        end = summary(report, verdict)
        if end.facts:
            yield ""
        yield from map(str, ReportForms.of_report(lambda: end).lines())

    def page() -> str:
        from xlbridge.validation.reports.html_report import report_page

        return report_page(report)

    json_pieces = partial(_document_pieces, report)
    return ReportForms(
        document=lambda: json.loads("".join(json_pieces())),
        lines=lines,
        page=page,
        workbook=partial(_write_annotated_copy, report),
        json_pieces=json_pieces,
    )


_MAX_CELLS = 5
"""Default number of cells shown for each rule."""

_MAX_VALUE_LENGTH = 40


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines about each file.

    The report's limit, by default ``_MAX_CELLS``, applies to the cells shown for each rule;
    counts include all.
    """
    limit = _MAX_CELLS if report.limit is None else report.limit
    for item in report.results:
        if isinstance(item, RefusedFile):
            yield f"✗ {item.file}: {item.refusal}"
            if item.refusal.hint:
                yield f"    {item.refusal.hint}"
            continue
        if isinstance(item, SkippedSheet):
            yield f"– {item.file} · {item.note}"
            continue
        headline = _HEADLINE.format(
            file=item.file,
            resource=item.resource_name or "?",
            sheet=item.sheet,
            rows=len(item.rows),
            errors=item.errors,
            warnings=item.warnings,
        )
        yield f"{'✓' if not item.errors else '✗'} {headline}"
        if item.read_as is not None:
            yield f"    {item.read_as}"
        if item.accepted:
            listed = [
                f"{code}: {item.title_of(column)} ({cells})" if column else f"{code} ({cells})"
                for (code, column), cells in item.accepted.items()
            ]
            yield f"    {_ACCEPTED.format(listed=list_first(listed, _MAX_CELLS))}"
        if item.fixes:
            yield from fixes_text(item, item.fixes)
        for group in by_rule(item.findings).values():
            yield from _group(item, group, limit)


_HEADLINE = Text(
    pt="{file} · {resource} · planilha {sheet} · linhas: {rows} · erros: {errors} · "
    "avisos: {warnings}",
    en="{file} · {resource} · sheet {sheet} · rows: {rows} · errors: {errors} · "
    "warnings: {warnings}",
)


_ACCEPTED = Text(
    pt="Aceitos como certos (--accept none volta a relatar): {listed}",
    en="Accepted as right (--accept none reports them again): {listed}",
)


def _group(sheet: ValidatedSheet, group: Sequence[Finding], limit: int) -> Iterator[str]:
    column, code = rule_key(group[0])
    first, *others = sheet.titled(group[: max(limit, 1)])
    column = column and first.column_label
    mark = "•" if first.kind.severity is Severity.ERROR else "◦"
    times = f" ×{len(group)}" if len(group) > 1 else ""
    label = f"[{code}]{times}"
    shown = [finding for finding in (first, *others)[:limit] if finding.cell]
    hints = dict.fromkeys(str(finding.hint) for finding in shown)
    if len({str(finding.message) for finding in shown}) > 1 or len(hints) > 1:
        yield f"  {mark} {column}  {label}" if column else f"  {mark} {label}"
        for finding in shown:
            yield f"      {_cell(finding)}: {finding.message}"
            if len(hints) > 1:
                yield f"        → {finding.hint}"
        if len(group) > len(shown):
            yield f"      {more_text(len(group) - len(shown))}"
    else:
        yield f"  {mark} {f'{column}: ' if column else ''}{first.message}  {label}"
        if shown:
            yield f"      {list_first([*map(_cell, shown)], len(shown), len(group))}"
    if len(hints) < 2:
        yield f"      → {first.hint}"


def _cell(finding: Finding) -> str:
    if (value := finding.display_value) is None:
        return str(finding.cell)
    shown = value[:_MAX_VALUE_LENGTH] + "…" * (len(value) > _MAX_VALUE_LENGTH)
    return f"{finding.cell}={quoted(shown)}"


def _write_annotated_copy(report: Report, target: Path) -> None:
    """Write a copy of the report's one workbook, with the findings of its validated sheets marked
    and listed in an additional sheet, errors first.

    If the workbook was fixed, the fixed copy is annotated with the remaining findings. The report's
    limit does not apply. Files of another kind than .xlsx are copied as plain workbooks. Raises
    ``WorkbookRefused`` if the workbook cannot be copied, ``UsageError`` if the copy cannot be
    written.
    """
    from xlbridge.workbook.edit import MAX_SHOWN, AnnotatedSheet, AnnotationSummary, annotate
    from xlbridge.workbook.write import as_xlsx

    sheets = report.sheets
    first = sheets[0]
    file = first.file if first.fixes is None else first.fixes.file
    # The lists of a mapped sheet may be in its own rows.
    by_name = {item.sheet: [one for one in sheets if one.sheet == item.sheet] for item in sheets}
    summary = AnnotationSummary(
        file=file.name,
        resources={
            name: "?" if parts[0].resource is None else str(parts[0].resource.title)
            for name, parts in by_name.items()
        },
        rows=sum(len(item.rows) for item in sheets),
        errors=sum(item.errors for item in sheets),
        warnings=sum(item.warnings for item in sheets),
    )
    marked = [
        AnnotatedSheet(
            name,
            [found for part in parts for found in part.titled(listed_findings(part, MAX_SHOWN))],
            min(parts[0].columns.values(), default=0),
            [cell for part in parts for cell in widespread_cells(part)],
        )
        for name, parts in by_name.items()
    ]
    with as_xlsx(file, [*by_name], first.limits) as workbook:
        annotate(workbook, target, marked, summary)


def fixes_json(fixes: FixedCopy) -> dict[str, Any]:
    """Return the changes as JSON; dates (ISO) and numbers (with a point) are texts."""
    return {
        "file": str(fixes.file),
        "changes": [
            {
                **_address(found),
                "old": found.value,
                "new": format(found.corrected, "f")
                if isinstance(found.corrected, Decimal)
                else str(found.corrected),
            }
            for found in fixes.fixed
        ],
        "left": [{**_address(left.finding), "reason": str(left.reason)} for left in fixes.left],
    }


def _address(finding: Finding) -> dict[str, Any]:
    address = {"cell": finding.cell, "row": finding.row, "column": finding.column}
    return {**address, "code": finding.kind.code}


def _document_pieces(report: Report) -> Iterator[str]:
    """Yield the report as JSON in pieces, as it may exceed the memory.

    The report's limit applies to the findings listed for each file; counts include all, and
    ``truncated`` is true if there are more. ``skipped`` are the sheets that fit no resource.
    """
    files = [item for item in report.results if not isinstance(item, SkippedSheet)]
    # The placeholder contains quotes, so it cannot occur within a JSON string.
    *before, end = _text(
        {
            "version": 1,
            "ok": report.ok,
            "files": [_file(item, report.limit) for item in files],
            "skipped": [
                {"file": str(item.file), "sheet": item.sheet}
                for item in report.results
                if isinstance(item, SkippedSheet)
            ],
        }
    ).split(_NO_FINDINGS)
    for item, piece in zip(files, before, strict=True):
        yield f"{piece}{_NO_FINDINGS[:-1]}"
        if isinstance(item, ValidatedSheet):
            yield from _findings_text(islice(item.findings, report.limit))
        yield "]"
    yield end


_NO_SHEET = dict.fromkeys(("resource", "sheet", "header_row")) | {
    "rows": 0, "errors": 1, "warnings": 0, "truncated": False,
}  # fmt: skip
"""Entries of a refused file, which counts as an error."""


def _file(item: ValidatedSheet | RefusedFile, limit: int | None) -> dict[str, Any]:
    """Return the entry of a file, with an empty list for its findings."""
    if isinstance(item, RefusedFile):
        refused = item.refusal.to_json()
        return {"file": str(item.file), **_NO_SHEET, "refused": refused, "findings": []}
    return {
        "file": str(item.file),
        "resource": item.resource_name,
        "sheet": item.sheet,
        "header_row": item.header_row,
        "rows": len(item.rows),
        "errors": item.errors,
        "warnings": item.warnings,
        "truncated": is_truncated(item, limit),
        "findings": [],
        **({"fixed": fixes_json(item.fixes)} if item.fixes else {}),
        **({"read_as": str(item.read_as)} if item.read_as else {}),
        **(
            {
                "accepted": [
                    {"code": code, "column": column, "cells": cells}
                    for (code, column), cells in item.accepted.items()
                ]
            }
            if item.accepted
            else {}
        ),
    }


def _findings_text(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield findings as JSON; common messages are rendered once."""
    # Imported here: few validations need it.
    from msgspec import json

    messages: dict[tuple[int, str], tuple[str, str, Mapping[str, object]]] = {}

    def entry(finding: Finding) -> dict[str, Any]:
        code, details = finding.kind.code, finding.details
        if (id(details), code) not in messages:
            if len(messages) >= _MAX_CACHED:
                messages.clear()
            # A reference to the details keeps their id from being reused.
            messages[id(details), code] = str(finding.message), str(finding.hint), details
        message, hint, _ = messages[id(details), code]
        address = {"cell": finding.cell, "row": finding.row, "column": finding.column}
        header = {} if finding.header is None else {"header": finding.header}
        kind = {"code": code, "severity": finding.kind.severity, "value": finding.value}
        return {**address, **header, **kind, "message": message, "hint": hint}

    rest = map(entry, findings)
    separator = ""
    while piece := list(islice(rest, _CHUNK)):
        yield separator + json.encode(piece)[1:-1].decode()
        separator = ", "
