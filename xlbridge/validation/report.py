"""What the judged workbooks amount to, as data and as text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from xlbridge.errors import WorkbookRefused, XlbridgeError
from xlbridge.findings import Finding, Severity
from xlbridge.i18n import Text
from xlbridge.validation.validate import ValidatedSheet
from xlbridge.workbook.address import column_index

_SHOWN_CELLS = 5
_SHOWN_LETTERS = 40
_POOLED = frozenset({"column-unknown", "column-unnamed"})
"""The findings that are one group in the text whatever their column: there may be thousands."""


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that could not be judged at all, and why."""

    file: Path
    refusal: XlbridgeError

    @property
    def code(self) -> str:
        """The stable code of why: the refused workbook's own, else ``unusable``."""
        return self.refusal.code if isinstance(self.refusal, WorkbookRefused) else "unusable"


Judged = ValidatedSheet | RefusedFile


def report_json(judged: Sequence[Judged], limit: int | None = None) -> dict[str, Any]:
    """Return the report as the contract's JSON document.

    ``limit`` caps the findings listed for each file; the counts stay exact, and ``truncated``
    says that there are more. Source: the product brief, ``validate --format json``.
    """
    return {
        "version": 1,
        "ok": all(isinstance(item, ValidatedSheet) and item.ok for item in judged),
        "files": [_file_json(item, limit) for item in judged],
    }


def _file_json(item: Judged, limit: int | None) -> dict[str, Any]:
    if isinstance(item, RefusedFile):
        refusal = {"code": item.code, "message": str(item.refusal)}
        return {
            "file": str(item.file),
            "resource": None,
            "sheet": None,
            "header_row": None,
            "rows": 0,
            "errors": 1,
            "warnings": 0,
            "truncated": False,
            "refused": refusal,
            "findings": [],
        }
    return {
        "file": str(item.file),
        "resource": item.resource.name if item.resource else None,
        "sheet": item.sheet,
        "header_row": item.header_row,
        "rows": len(item.rows),
        "errors": item.errors,
        "warnings": item.warnings,
        "truncated": limit is not None and len(item.findings) > limit,
        "findings": [finding_json(finding) for finding in item.findings[:limit]],
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return one finding as JSON; the message and the hint in the active language."""
    return {
        "cell": finding.cell,
        "row": finding.row,
        "column": finding.column,
        "code": finding.kind.code,
        "severity": finding.kind.severity,
        "value": finding.value,
        "message": str(finding.message),
        "hint": str(finding.hint),
    }


def report_text(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the lines of the report for a person: findings grouped by column and rule."""
    for item in judged:
        yield from _file_text(item)


def _file_text(item: Judged) -> Iterator[str]:
    if isinstance(item, RefusedFile):
        yield f"✗ {item.file}: {item.refusal}"
        if item.refusal.hint:
            yield f"    {item.refusal.hint}"
        return
    yield f"{'✓' if item.ok else '✗'} {_headline(item)}"
    by_rule = sorted(item.findings, key=_rule)
    for _, group in groupby(by_rule, key=_rule):
        yield from _group_text(list(group))


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


def _rule(finding: Finding) -> tuple[bool, int, str, str]:
    """Order: errors before warnings, the layout before the cells, then as the columns stand."""
    letters = (finding.cell or "").rstrip("0123456789")
    is_warning = finding.kind.severity is Severity.WARNING
    if finding.kind.code in _POOLED:
        return is_warning, -1, "", finding.kind.code
    return is_warning, column_index(letters), finding.column or "", finding.kind.code


def _group_text(group: Sequence[Finding]) -> Iterator[str]:
    first = group[0]
    column = None if first.kind.code in _POOLED else first.column
    mark = "•" if first.kind.severity is Severity.ERROR else "◦"
    shown = [finding for finding in group[:_SHOWN_CELLS] if finding.cell]
    rest = Text(pt="… e mais {n}", en="… and {n} more").format(n=len(group) - len(shown))
    if len({str(finding.message) for finding in shown}) > 1:
        yield (
            f"  {mark} {column}  [{first.kind.code}]" if column else f"  {mark} [{first.kind.code}]"
        )
        yield from (f"      {_cell_text(finding)}: {finding.message}" for finding in shown)
        if len(group) > len(shown):
            yield f"      {rest}"
    else:
        yield f"  {mark} {f'{column}: ' if column else ''}{first.message}  [{first.kind.code}]"
        if shown:
            cells = ", ".join(map(_cell_text, shown))
            yield f"      {cells} {rest}" if len(group) > len(shown) else f"      {cells}"
    yield f"      → {first.hint}"


def _cell_text(finding: Finding) -> str:
    if finding.value is None:
        return str(finding.cell)
    shown = finding.value[:_SHOWN_LETTERS] + "…" * (len(finding.value) > _SHOWN_LETTERS)
    return f"{finding.cell}={shown!r}"
