"""The report as text for a terminal: findings grouped by column and rule, then what matters."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from pathlib import Path

from xlbridge.files import as_argument
from xlbridge.i18n import Text
from xlbridge.resources.findings import CorrectedValue, Finding, Severity
from xlbridge.validation.cells.text import display, format_decimal, quoted
from xlbridge.validation.finding_columns import count_corrected
from xlbridge.validation.reports.model import (
    Report,
    ReportItem,
    SheetReport,
    rule_label,
)
from xlbridge.validation.results import (
    FixedCell,
    FixedCopy,
    RefusedFile,
    SkippedSheet,
    ValidatedSheet,
)

DEFAULT_LIMIT = 5
"""Number of cells of each rule that are shown, unless told otherwise."""

_LONGEST_VALUE = 40
_MOST_RULES = 8


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines of the report, and with several files a last one that sums them up.

    The report's limit caps the cells that are shown of each rule, ``DEFAULT_LIMIT`` where it has
    none; the counts are of all.
    """
    limit = DEFAULT_LIMIT if report.limit is None else report.limit
    for item in report.items():
        yield from _file(item, limit)
    if len(report.results) > 1:
        total = Text(
            pt="Total · arquivos: {files} · aprovados: {good} · linhas: {rows} · "
            "erros: {errors} · avisos: {warnings}",
            en="Total · files: {files} · passed: {good} · rows: {rows} · errors: {errors} · "
            "warnings: {warnings}",
        )
        yield str(total.format(**asdict(report.totals)))


def closing_lines(report: Report) -> Iterator[str]:
    """Yield what matters at the end: counts by rule, what ``--fix`` would mend, the next step."""
    counts: dict[Severity, Counter[str]] = {severity: Counter() for severity in Severity}
    mended: Counter[str] = Counter()
    for item in report.items():
        for (_, code), group in item.groups().items() if isinstance(item, SheetReport) else ():
            counts[group[0].kind.severity][code] += len(group)
            mended[code] += count_corrected(group)
    found = sum(count.total() for count in counts.values())
    if found:
        yield ""
        heads = {
            Severity.ERROR: Text(
                pt="Erros por regra ({n}): {rules}", en="Errors by rule ({n}): {rules}"
            ),
            Severity.WARNING: Text(
                pt="Avisos por regra ({n}): {rules}", en="Warnings by rule ({n}): {rules}"
            ),
        }
        for severity, count in counts.items():
            if count:
                yield str(heads[severity].format(n=count.total(), rules=_rules(count)))
    if mended.total():
        told = Text(
            pt="Podem ser corrigidos com --fix: {mended} de {found}: {rules}",
            en="{mended} of {found} can be fixed with --fix: {rules}",
        )
        yield str(told.format(mended=mended.total(), found=found, rules=_rules(mended)))
    sheets = report.sheets
    if len(sheets) == 1 == len(report.results):
        yield str(_next_step(sheets[0], report.options, mends=bool(mended.total())))


def _rules(counts: Counter[str]) -> str:
    told = [f"{code} {count}" for code, count in counts.most_common(_MOST_RULES) if count]
    more = sum(count > 0 for count in counts.values()) - len(told)
    rest = [str(Text(pt="… e mais {n}", en="… and {n} more").format(n=more))] if more else []
    return ", ".join([*told, *rest])


def _next_step(sheet: ValidatedSheet, options: Sequence[str], *, mends: bool) -> Text:
    """Return what to do next with the one sheet of a report."""
    if sheet.resource is None:
        return Text(pt="A seguir: preencha a planilha.", en="Next: fill in the sheet.")
    file = sheet.file if sheet.fixes is None else sheet.fixes.file
    told = " ".join(map(as_argument, [str(file), *options]))
    if not sheet.errors and not mends:
        return Text(
            pt="A seguir: xlbridge upload {told}", en="Next: xlbridge upload {told}"
        ).format(told=told)
    if mends and sheet.fixes is None:
        return Text(
            pt="A seguir: xlbridge validate {told} --fix {copy}",
            en="Next: xlbridge validate {told} --fix {copy}",
        ).format(told=told, copy=_copy_of(file, Text(pt="corrigida", en="fixed")))
    if all(finding.cell is None for one in sheet.with_children for finding in one.findings):
        return Text(
            pt="A seguir: corrija o arquivo, depois: xlbridge validate {told}",
            en="Next: correct the workbook, then: xlbridge validate {told}",
        ).format(told=told)
    return Text(
        pt="A seguir: xlbridge validate {told} --annotate {copy} mostra cada célula na planilha",
        en="Next: xlbridge validate {told} --annotate {copy} shows each cell in the workbook",
    ).format(told=told, copy=_copy_of(file, Text(pt="marcada", en="marked")))


def _copy_of(file: Path, kind: Text) -> Text:
    pt, en = (as_argument(f"{file.stem}-{word}.xlsx") for word in (kind.pt, kind.en))
    return Text(pt=pt, en=en)


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
    yield f"{'✓' if not sheet.errors else '✗'} {_headline(item)}"
    if sheet.read_as is not None:
        yield f"    {sheet.read_as}"
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


def _group(group: Sequence[Finding], limit: int) -> Iterator[str]:
    first = group[0]
    column, code = rule_label(first)
    mark = "•" if first.kind.severity is Severity.ERROR else "◦"
    times = f" ×{len(group)}" if len(group) > 1 else ""
    label = f"[{code}]{times}"
    shown = [finding for finding in group[:limit] if finding.cell]
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
    shown = value[:_LONGEST_VALUE] + "…" * (len(value) > _LONGEST_VALUE)
    return f"{finding.cell}={quoted(shown)}"


_MOST_FIXES = 20
_FIX_EXAMPLES = 3
_MOST_UNFIXED = 10


def fixes_text(fixes: FixedCopy) -> Iterator[str]:
    """Yield the lines that tell a person what was fixed; many are counted by column and rule, with
    some examples."""
    changes = fixes.changes
    head = Text(
        pt="Corrigidas em {file}: {count}. O que segue é o que fica por corrigir.",
        en="Fixed in {file}: {count}. What follows is what is left to fix.",
    )
    yield f"  ✎ {head.format(file=fixes.file, count=len(changes))}"
    if len(changes) <= _MOST_FIXES:
        yield from (f"      {_change(change, column=True)}" for change in changes)
    else:
        groups: defaultdict[tuple[str | None, str], list[FixedCell]] = defaultdict(list)
        for change in changes:
            groups[change.finding.column_label, change.finding.kind.code].append(change)
        for (column, code), alike in groups.items():
            examples = ", ".join(map(_change, alike[:_FIX_EXAMPLES]))
            more = len(alike) - _FIX_EXAMPLES
            rest = Text(pt=" … e mais {n}", en=" … and {n} more").format(n=more) if more > 0 else ""
            yield f"      {column}  [{code}] ×{len(alike)}: {examples}{rest}"
        yield f"      {Text(pt='Todas, com --format json', en='All of them: --format json')}"
    cells: dict[tuple[str, str | None], list[str]] = {}
    for item in fixes.left:
        place = str(item.reason), item.finding.column_label
        cells.setdefault(place, []).append(item.finding.cell or "")
    head = Text(pt="Fica como está", en="Left as it is")
    for (reason, column), names in cells.items():
        rest = f" … ({len(names)})" if len(names) > _MOST_UNFIXED else ""
        yield f"      {head}: {column} {', '.join(names[:_MOST_UNFIXED])}{rest}: {reason}"


def _change(change: FixedCell, *, column: bool = False) -> str:
    found = change.finding
    place = f"{found.cell} {found.column_label}" if column else found.cell
    return f"{place}: {quoted(found.display_value or '')} → {_fixed_value(change.new)}"


def _fixed_value(value: CorrectedValue) -> str:
    match value:
        case Decimal():
            return str(format_decimal(value))
        case date():
            return display(value)
        case _:
            return quoted(value)
