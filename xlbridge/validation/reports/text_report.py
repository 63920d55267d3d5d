"""The report for a person at a terminal: findings grouped by column and rule."""

from collections.abc import Iterator, Sequence

from xlbridge.findings import Finding, Severity
from xlbridge.i18n import Text
from xlbridge.validation.changes import mending_text
from xlbridge.validation.display import quoted
from xlbridge.validation.reports.judged import (
    Judged,
    RefusedFile,
    SkippedSheet,
    by_rule,
    is_good,
    rule_of,
)
from xlbridge.validation.validate import ValidatedSheet

DEFAULT_LIMIT = 5
"""How many cells of each rule are shown, unless told otherwise."""

_SHOWN_LETTERS = 40


def report_text(judged: Sequence[Judged], limit: int | None = None) -> Iterator[str]:
    """Yield the lines of the report, and with several files a last one that sums them up.

    ``limit`` caps the cells that are shown of each rule, ``DEFAULT_LIMIT`` where it is None; the
    counts are of all.
    """
    most = DEFAULT_LIMIT if limit is None else limit
    for item in judged:
        yield from _file(item, most)
    if len(judged) > 1:
        yield str(_total(judged))


def _file(item: Judged, limit: int) -> Iterator[str]:
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
        yield from mending_text(item.mending)
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


def _total(judged: Sequence[Judged]) -> Text:
    sheets = [item for item in judged if isinstance(item, ValidatedSheet)]
    files = dict.fromkeys(item.file for item in judged)
    bad = {item.file for item in judged if not is_good(item)}
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
    column, code = rule_of(first)
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
    shown = value[:_SHOWN_LETTERS] + "…" * (len(value) > _SHOWN_LETTERS)
    return f"{finding.cell}={quoted(shown)}"
