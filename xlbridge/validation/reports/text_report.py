"""Text form of the report for a terminal: findings by column and rule, then a summary."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice

from xlbridge.i18n import Text
from xlbridge.resources.findings import CorrectedValue, Finding, Severity
from xlbridge.validation.cells.text import display, format_decimal, quoted
from xlbridge.validation.finding_columns import count_corrected
from xlbridge.validation.reports.model import Report, by_rule, rule_key
from xlbridge.validation.reports.next_steps import next_steps
from xlbridge.validation.results import (
    FixedCopy,
    RefusedFile,
    SkippedSheet,
    ValidatedSheet,
    ValidationResult,
    is_ok,
)

DEFAULT_LIMIT = 5
"""Default number of cells shown for each rule."""

_MAX_VALUE_LENGTH = 40
_MAX_RULES = 8


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines of the report, with a total for several files.

    The report's limit, by default ``DEFAULT_LIMIT``, applies to the cells shown for each rule;
    counts include all.
    """
    limit = DEFAULT_LIMIT if report.limit is None else report.limit
    for item in report.results:
        yield from _file(item, limit)
    if len(report.results) > 1:
        total = Text(
            pt="Total · arquivos: {files} · aprovados: {good} · linhas: {rows} · "
            "erros: {errors} · avisos: {warnings}",
            en="Total · files: {files} · passed: {good} · rows: {rows} · errors: {errors} · "
            "warnings: {warnings}",
        )
        files = {item.file for item in report.results}
        bad = {item.file for item in report.results if not is_ok(item)}
        yield str(
            total.format(
                files=len(files),
                good=len(files - bad),
                rows=sum(len(sheet.rows) for sheet in report.sheets),
                errors=sum(sheet.errors for sheet in report.sheets),
                warnings=sum(sheet.warnings for sheet in report.sheets),
            )
        )


def closing_lines(report: Report) -> Iterator[str]:
    """Yield the summary: counts by rule, what ``--fix`` would correct, the next steps."""
    counts: dict[Severity, Counter[str]] = {severity: Counter() for severity in Severity}
    fixable: Counter[str] = Counter()
    for sheet in report.sheets:
        for (_, code), group in by_rule(sheet.findings).items():
            counts[group[0].kind.severity][code] += len(group)
            fixable[code] += count_corrected(group)
    found = sum(count.total() for count in counts.values())
    if found:
        yield ""
        headings = {
            Severity.ERROR: Text(
                pt="Erros por regra ({n}): {rules}", en="Errors by rule ({n}): {rules}"
            ),
            Severity.WARNING: Text(
                pt="Avisos por regra ({n}): {rules}", en="Warnings by rule ({n}): {rules}"
            ),
        }
        for severity, count in counts.items():
            if count:
                yield str(headings[severity].format(n=count.total(), rules=_rules(count)))
    if fixable.total():
        message = Text(
            pt="Podem ser corrigidos com --fix: {fixable} de {found}: {rules}",
            en="{fixable} of {found} can be fixed with --fix: {rules}",
        )
        yield str(message.format(fixable=fixable.total(), found=found, rules=_rules(fixable)))
    yield from map(str, next_steps(report, has_fixes=bool(fixable.total())))


def _rules(counts: Counter[str]) -> str:
    shown = [f"{code} {count}" for code, count in counts.most_common(_MAX_RULES) if count]
    more = sum(count > 0 for count in counts.values()) - len(shown)
    rest = [str(Text(pt="… e mais {n}", en="… and {n} more").format(n=more))] if more else []
    return ", ".join([*shown, *rest])


def _file(item: ValidationResult, limit: int) -> Iterator[str]:
    if isinstance(item, RefusedFile):
        yield f"✗ {item.file}: {item.refusal}"
        if item.refusal.hint:
            yield f"    {item.refusal.hint}"
        return
    if isinstance(item, SkippedSheet):
        yield f"– {item.file} · {item.note}"
        return
    yield f"{'✓' if not item.errors else '✗'} {_headline(item)}"
    if item.read_as is not None:
        yield f"    {item.read_as}"
    if item.fixes:
        yield from fixes_text(item.fixes)
    for group in by_rule(item.findings).values():
        yield from _group(group, limit)


def _headline(sheet: ValidatedSheet) -> Text:
    return Text(
        pt="{file} · {resource} · planilha {sheet} · linhas: {rows} · erros: {errors} · "
        "avisos: {warnings}",
        en="{file} · {resource} · sheet {sheet} · rows: {rows} · errors: {errors} · "
        "warnings: {warnings}",
    ).format(
        file=sheet.file,
        resource=sheet.resource_name or "?",
        sheet=sheet.sheet,
        rows=len(sheet.rows),
        errors=sheet.errors,
        warnings=sheet.warnings,
    )


def _group(group: Sequence[Finding], limit: int) -> Iterator[str]:
    first = group[0]
    column, code = rule_key(first)
    column = column and first.column_label
    mark = "•" if first.kind.severity is Severity.ERROR else "◦"
    times = f" ×{len(group)}" if len(group) > 1 else ""
    label = f"[{code}]{times}"
    shown = [finding for finding in islice(group, limit) if finding.cell]
    rest = Text(pt="… e mais {n}", en="… and {n} more").format(n=len(group) - len(shown))
    hints = dict.fromkeys(str(finding.hint) for finding in shown)
    if len({str(finding.message) for finding in shown}) > 1 or len(hints) > 1:
        yield f"  {mark} {column}  {label}" if column else f"  {mark} {label}"
        for finding in shown:
            yield f"      {_cell(finding)}: {finding.message}"
            if len(hints) > 1:
                yield f"        → {finding.hint}"
        if len(group) > len(shown):
            yield f"      {rest}"
    else:
        yield f"  {mark} {f'{column}: ' if column else ''}{first.message}  {label}"
        if shown:
            cells = ", ".join(map(_cell, shown))
            yield f"      {cells} {rest}" if len(group) > len(shown) else f"      {cells}"
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
        groups: defaultdict[tuple[str | None, str], list[Finding]] = defaultdict(list)
        for found in fixed:
            groups[found.column_label, found.kind.code].append(found)
        for (column, code), group in groups.items():
            examples = ", ".join(map(_change, group[:_FIX_EXAMPLES]))
            more = len(group) - _FIX_EXAMPLES
            rest = Text(pt=" … e mais {n}", en=" … and {n} more").format(n=more) if more > 0 else ""
            yield f"      {column}  [{code}] ×{len(group)}: {examples}{rest}"
        yield f"      {Text(pt='Todas, com --format json', en='All of them: --format json')}"
    left: dict[tuple[str, str | None], list[str]] = {}
    for item in fixes.left:
        key = str(item.reason), item.finding.column_label
        left.setdefault(key, []).append(item.finding.cell or "")
    heading = Text(pt="Não foi alterado", en="Left unchanged")
    for (reason, column), cells in left.items():
        rest = f" … ({len(cells)})" if len(cells) > _MAX_UNFIXED else ""
        yield f"      {heading}: {column} {', '.join(cells[:_MAX_UNFIXED])}{rest}: {reason}"


def _change(found: Finding, *, column: bool = False) -> str:
    address = f"{found.cell} {found.column_label}" if column else found.cell
    return f"{address}: {quoted(found.display_value or '')} → {_fixed_value(found.corrected)}"


def _fixed_value(value: CorrectedValue | None) -> str:
    if isinstance(value, str):
        return quoted(value)
    return str(format_decimal(value) if isinstance(value, Decimal) else display(value))
