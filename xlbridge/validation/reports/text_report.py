"""The report as text for a terminal: findings grouped by column and rule."""

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal

from xlbridge.i18n import Text
from xlbridge.resources.findings import CorrectedValue, Finding, Severity
from xlbridge.validation.results import (
    FixedCopy,
    RefusedFile,
    SkippedSheet,
    UnfixedCell,
    ValidatedSheet,
    ValidationResult,
    by_rule,
    is_ok,
    rule_key,
)
from xlbridge.validation.text import display, localised_number, quoted

_MOST_FIXES = 200
_MOST_UNFIXED = 10


def fixes_text(mending: FixedCopy) -> Iterator[str]:
    """Yield the lines that tell a person what was mended; of very many only the first."""
    changes = mending.changes
    head = Text(
        pt="Corrigidas em {file}: {count}. O que segue é o que fica por corrigir.",
        en="Mended in {file}: {count}. What follows is what is left to mend.",
    )
    yield f"  ✎ {head.format(file=mending.file, count=len(changes))}"
    for change in changes[:_MOST_FIXES]:
        found = change.finding
        old, new = quoted(found.shown or ""), _fixed_value(change.new)
        yield f"      {found.cell} {found.column}: {old} → {new}"
    if len(changes) > _MOST_FIXES:
        rest = Text(
            pt="… e mais {n}; todas com --format json",
            en="… and {n} more; all of them with --format json",
        )
        yield f"      {rest.format(n=len(changes) - _MOST_FIXES)}"
    yield from _unfixed_text(mending.left)


def _unfixed_text(left: list[UnfixedCell]) -> Iterator[str]:
    """Yield each reason for which cells were left, with the cells."""
    cells: dict[tuple[str, str | None], list[str]] = {}
    for item in left:
        place = str(item.reason), item.finding.column
        cells.setdefault(place, []).append(item.finding.cell or "")
    head = Text(pt="Fica como está", en="Left as it is")
    for (reason, column), names in cells.items():
        rest = f" … ({len(names)})" if len(names) > _MOST_UNFIXED else ""
        yield f"      {head}: {column} {', '.join(names[:_MOST_UNFIXED])}{rest}: {reason}"


def _fixed_value(value: CorrectedValue) -> str:
    match value:
        case Decimal():
            return str(localised_number(value))
        case date():
            return display(value)
        case _:
            return quoted(value)


DEFAULT_LIMIT = 5
"""How many cells of each rule are shown, unless told otherwise."""

_LONGEST_VALUE = 40


def report_text(judged: Sequence[ValidationResult], limit: int | None = None) -> Iterator[str]:
    """Yield the lines of the report, and with several files a last one that sums them up.

    ``limit`` caps the cells that are shown of each rule, ``DEFAULT_LIMIT`` where it is None; the
    counts are of all.
    """
    most = DEFAULT_LIMIT if limit is None else limit
    for item in judged:
        yield from _file(item, most)
    if len(judged) > 1:
        yield str(_total(judged))


def _file(item: ValidationResult, limit: int) -> Iterator[str]:
    if isinstance(item, RefusedFile):
        yield f"✗ {item.file}: {item.refusal}"
        if item.refusal.hint:
            yield f"    {item.refusal.hint}"
        return
    if isinstance(item, SkippedSheet):
        yield f"– {item.file} · {item.note}"
        return
    yield f"{'✓' if item.ok else '✗'} {_headline(item)}"
    if item.mending:
        yield from fixes_text(item.mending)
    for group in by_rule(item.findings).values():
        yield from _group(group, limit)


def _headline(item: ValidatedSheet) -> Text:
    return Text(
        pt="{file} · {resource} · planilha {sheet} · linhas: {rows} · erros: {errors} · "
        "avisos: {warnings}",
        en="{file} · {resource} · sheet {sheet} · rows: {rows} · errors: {errors} · "
        "warnings: {warnings}",
    ).format(
        file=item.file,
        resource=item.resource.name if item.resource else "?",
        sheet=item.sheet,
        rows=len(item.rows),
        errors=item.errors,
        warnings=item.warnings,
    )


def _total(judged: Sequence[ValidationResult]) -> Text:
    sheets = [item for item in judged if isinstance(item, ValidatedSheet)]
    files = dict.fromkeys(item.file for item in judged)
    bad = {item.file for item in judged if not is_ok(item)}
    return Text(
        pt="Total · arquivos: {files} · aprovados: {good} · linhas: {rows} · erros: {errors} · "
        "avisos: {warnings}",
        en="Total · files: {files} · passed: {good} · rows: {rows} · errors: {errors} · "
        "warnings: {warnings}",
    ).format(
        files=len(files),
        good=len(files) - len(bad),
        rows=sum(len(item.rows) for item in sheets),
        errors=sum(item.errors for item in sheets),
        warnings=sum(item.warnings for item in sheets),
    )


def _group(group: Sequence[Finding], limit: int) -> Iterator[str]:
    first = group[0]
    column, code = rule_key(first)
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
    if (value := finding.shown) is None:
        return str(finding.cell)
    shown = value[:_LONGEST_VALUE] + "…" * (len(value) > _LONGEST_VALUE)
    return f"{finding.cell}={quoted(shown)}"
