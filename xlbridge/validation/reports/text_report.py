"""The report as text for a terminal: findings grouped by column and rule."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from xlbridge.i18n import Text
from xlbridge.resources.findings import Finding, Severity
from xlbridge.validation.reports.model import (
    Report,
    ReportItem,
    SheetReport,
    Totals,
    fixes_text,
    rule_label,
)
from xlbridge.validation.results import RefusedFile, SkippedSheet
from xlbridge.validation.text import quoted

DEFAULT_LIMIT = 5
"""Number of cells of each rule that are shown, unless told otherwise."""

_LONGEST_VALUE = 40


def render(report: Report) -> Iterator[str]:
    """Yield the lines of the report, each with its line end."""
    for line in report_lines(report):
        yield f"{line}\n"


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines of the report, and with several files a last one that sums them up.

    The report's limit caps the cells that are shown of each rule, ``DEFAULT_LIMIT`` where it has
    none; the counts are of all.
    """
    limit = DEFAULT_LIMIT if report.limit is None else report.limit
    for item in report.items():
        yield from _file(item, limit)
    if len(report.results) > 1:
        yield str(_total(report.totals))


def _file(item: ReportItem, limit: int) -> Iterator[str]:
    if isinstance(item, RefusedFile):
        yield f"✗ {item.file}: {item.refusal}"
        if item.refusal.hint:
            yield f"    {item.refusal.hint}"
        return
    if isinstance(item, SkippedSheet):
        yield f"– {item.file} · {item.note}"
        return
    sheet = item.sheet
    yield f"{'✓' if sheet.ok else '✗'} {_headline(item)}"
    if sheet.fixes:
        yield from fixes_text(sheet.fixes)
    for group in item.groups().values():
        yield from _group(group, limit)


def _headline(item: SheetReport) -> Text:
    return Text(
        pt="{file} · {resource} · planilha {sheet} · linhas: {rows} · erros: {errors} · "
        "avisos: {warnings}",
        en="{file} · {resource} · sheet {sheet} · rows: {rows} · errors: {errors} · "
        "warnings: {warnings}",
    ).format(
        file=item.sheet.file,
        resource=item.resource or "?",
        sheet=item.sheet.sheet,
        rows=len(item.sheet.rows),
        errors=item.sheet.errors,
        warnings=item.sheet.warnings,
    )


def _total(totals: Totals) -> Text:
    return Text(
        pt="Total · arquivos: {files} · aprovados: {good} · linhas: {rows} · erros: {errors} · "
        "avisos: {warnings}",
        en="Total · files: {files} · passed: {good} · rows: {rows} · errors: {errors} · "
        "warnings: {warnings}",
    ).format(**asdict(totals))


def _group(group: Sequence[Finding], limit: int) -> Iterator[str]:
    first = group[0]
    column, code = rule_label(first)
    mark = "•" if first.kind.severity is Severity.ERROR else "◦"
    times = f" ×{len(group)}" if len(group) > 1 else ""
    label = f"[{code}]{times}"
    shown = [finding for finding in group[:limit] if finding.cell]
    rest = Text(pt="… e mais {n}", en="… and {n} more").format(n=len(group) - len(shown))
    if len({str(finding.message) for finding in shown}) > 1:
        yield f"  {mark} {column}  {label}" if column else f"  {mark} {label}"
        yield from (f"      {_cell(finding)}: {finding.message}" for finding in shown)
        if len(group) > len(shown):
            yield f"      {rest}"
    else:
        yield f"  {mark} {f'{column}: ' if column else ''}{first.message}  {label}"
        if shown:
            cells = ", ".join(map(_cell, shown))
            yield f"      {cells} {rest}" if len(group) > len(shown) else f"      {cells}"
    yield f"      → {first.hint}"


def _cell(finding: Finding) -> str:
    if (value := finding.display_value) is None:
        return str(finding.cell)
    shown = value[:_LONGEST_VALUE] + "…" * (len(value) > _LONGEST_VALUE)
    return f"{finding.cell}={quoted(shown)}"
