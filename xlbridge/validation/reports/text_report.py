"""Text form of the report for a terminal: findings by column and rule."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice

from xlbridge.i18n import Text
from xlbridge.report_forms import group_by_reason, list_first, more_text
from xlbridge.resources.findings import Finding, Severity
from xlbridge.validation.cells.text import display, format_decimal, quoted
from xlbridge.validation.reports.model import Report, by_rule, rule_key
from xlbridge.validation.results import (
    FixedCopy,
    RefusedFile,
    SkippedSheet,
)

DEFAULT_LIMIT = 5
"""Default number of cells shown for each rule."""

_MAX_VALUE_LENGTH = 40


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines about each file.

    The report's limit, by default ``DEFAULT_LIMIT``, applies to the cells shown for each rule;
    counts include all.
    """
    limit = DEFAULT_LIMIT if report.limit is None else report.limit
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
        if item.fixes:
            yield from fixes_text(item.fixes)
        for group in by_rule(item.findings).values():
            yield from _group(group, limit)


_HEADLINE = Text(
    pt="{file} · {resource} · planilha {sheet} · linhas: {rows} · erros: {errors} · "
    "avisos: {warnings}",
    en="{file} · {resource} · sheet {sheet} · rows: {rows} · errors: {errors} · "
    "warnings: {warnings}",
)


def _group(group: Sequence[Finding], limit: int) -> Iterator[str]:
    first = group[0]
    column, code = rule_key(first)
    column = column and first.column_label
    mark = "•" if first.kind.severity is Severity.ERROR else "◦"
    times = f" ×{len(group)}" if len(group) > 1 else ""
    label = f"[{code}]{times}"
    shown = [finding for finding in islice(group, limit) if finding.cell]
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


_MAX_FIXES = 20
_FIX_EXAMPLES = 3
_MAX_UNFIXED = 10


def fixes_text(fixes: FixedCopy) -> Iterator[str]:
    """Yield the lines about a fixed copy; many changes are counted by column and rule, with
    examples."""
    fixed = fixes.fixed
    heading = Text(
        pt="Corrigidas em {file}: {count}. A seguir, o que falta corrigir.",
        en="Fixed in {file}: {count}. The remaining findings follow.",
    )
    yield f"  ✎ {heading.format(file=fixes.file, count=len(fixed))}"
    if len(fixed) <= _MAX_FIXES:
        yield from (f"      {_change(found, column=True)}" for found in fixed)
    else:
        rules = (((found.column_label, found.kind.code), found) for found in fixed)
        for (column, code), group in group_by_reason(rules).items():
            examples = list_first([*map(_change, group[:_FIX_EXAMPLES])], _FIX_EXAMPLES, len(group))
            yield f"      {column}  [{code}] ×{len(group)}: {examples}"
        yield f"      {Text(pt='Todas, com --format json', en='All of them: --format json')}"
    heading = Text(pt="Não foi alterado", en="Left unchanged")
    reasons = (
        ((item.reason, item.finding.column_label), item.finding.cell or "") for item in fixes.left
    )
    for (reason, column), cells in group_by_reason(reasons).items():
        yield f"      {heading}: {column} {list_first(cells, _MAX_UNFIXED)}: {reason}"


def _change(found: Finding, *, column: bool = False) -> str:
    address = f"{found.cell} {found.column_label}" if column else found.cell
    match found.corrected:
        case str(text):
            fixed = quoted(text)
        case Decimal() as number:
            fixed = str(format_decimal(number))
        case value:
            fixed = display(value)
    return f"{address}: {quoted(found.display_value or '')} → {fixed}"
