"""Model of the validation report, the common content of all its forms; and its summary, which text
and page share: counts by rule, next commands, what was fixed."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path

import pandas as pd

from xlbridge import report_forms
from xlbridge.files import as_arguments, path_beside
from xlbridge.i18n import Text
from xlbridge.report_forms import Grade, group_by_reason, list_first
from xlbridge.resources import Kind, Resource
from xlbridge.resources.findings import Finding, Severity
from xlbridge.validation.cells.contents import display, format_decimal, quoted
from xlbridge.validation.results import FixedCopy, ValidatedSheet, ValidationResult, is_ok
from xlbridge.validation.sheet_findings import (
    by_column_and_kind,
    count_corrected,
    details_of,
    row_numbers,
)
from xlbridge.workbook import column_index

__all__ = [
    "Report",
    "RuleKey",
    "by_rule",
    "message_of_all",
    "without_cells",
]

RuleKey = tuple[str | None, str]
"""A column, None for the layout as a whole, and the code of a kind of finding."""

_POOLED_CODES = frozenset({"column-unknown", "column-unnamed"})
"""Findings that are grouped across columns, as there may be thousands."""


def rule_key(finding: Finding) -> RuleKey:
    """Return the key of a finding's group."""
    code = finding.kind.code
    return (None if code in _POOLED_CODES else finding.column), code


def by_rule(findings: Sequence[Finding]) -> dict[RuleKey, Sequence[Finding]]:
    """Group findings by ``rule_key``.

    Errors come before warnings, the layout before the cells, columns in the sheet's order.
    """
    found: defaultdict[RuleKey, list[Sequence[Finding]]] = defaultdict(list)
    for group in by_column_and_kind(findings):
        found[rule_key(group[0])].append(group)
    groups = {
        rule: parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))
        for rule, parts in found.items()
    }

    def sort_key(entry: tuple[RuleKey, Sequence[Finding]]) -> tuple[bool, int, str, str]:
        (column, code), group = entry
        first = group[0]
        letters = (first.cell or "").rstrip("0123456789") if column else ""
        is_warning = first.kind.severity is Severity.WARNING
        return is_warning, column_index(letters), column or "", code

    return dict(sorted(groups.items(), key=sort_key))


def message_of_all(findings: Sequence[Finding]) -> Text:
    """Return the message of findings of one kind, with an ellipsis for differing details."""
    common = dict(findings[0].details)
    for details in details_of(findings):
        common = {name: value for name, value in common.items() if details.get(name) == value}
        if not common:
            break
    return findings[0].message if len(findings) == 1 else findings[0].kind.summary(common)


_MIN_WIDESPREAD = 10


def is_widespread(group: Sequence[Finding], rows: int) -> bool:
    """Return whether a group of findings is a warning on most cells of a column."""
    is_warning = group[0].kind.severity is Severity.WARNING and group[0].cell is not None
    return is_warning and len(group) >= _MIN_WIDESPREAD and 2 * len(group) > rows


def listed_findings(sheet: ValidatedSheet, limit: int | None) -> list[Finding]:
    """Return the findings to list, at most ``limit``: errors first, then by row and column. A
    warning on most cells of a column is listed once, with the number of cells."""
    found = list[Finding]()
    for group in by_rule(sheet.findings).values():
        if is_widespread(group, len(sheet.rows)):
            found.append(replace(group[0], cells=len(group)))
        else:
            found += islice(group, limit)

    def sort_key(finding: Finding) -> tuple[bool, int, int]:
        is_warning = finding.kind.severity is Severity.WARNING
        return is_warning, finding.row or 0, sheet.columns.get(finding.column or "", -1)

    return sorted(found, key=sort_key)[:limit]


def is_truncated(sheet: ValidatedSheet, limit: int | None) -> bool:
    """Return whether there are more findings than are listed; counts always include all."""
    return limit is not None and limit < len(sheet.findings)


def widespread_cells(sheet: ValidatedSheet) -> list[str]:
    """Return the addresses of the cells that have a warning like most of their column."""
    return [
        f"{(group[0].cell or '').rstrip('0123456789')}{row}"
        for group in by_rule(sheet.findings).values()
        if is_widespread(group, len(sheet.rows))
        for row in row_numbers(group)
    ]


def record_names(sheet: ValidatedSheet, row: int | None) -> list[str]:
    """Return the names of a row's record: its first text and its first filled natural key,
    preferably not the external identifier; none if its cells are unknown."""
    if sheet.resource is None or row is None or sheet.frame.empty:
        return []
    position = bisect_left(sheet.rows, row)
    if position == len(sheet.rows) or sheet.rows[position] != row:
        return []
    values = sheet.frame.iloc[position]
    texts, keys = _naming_columns(sheet.resource)
    key = next((str(values[name]) for name in keys if pd.notna(values[name])), "")
    names = [str(values[name]) for name in texts if pd.notna(values[name])]
    return [text for text in (*names, key) if text]


def _naming_columns(resource: Resource) -> tuple[list[str], list[str]]:
    """Return the columns that name a record: its first text column and its natural keys."""
    texts = [c.name for c in resource.columns if c.kind is Kind.TEXT and not c.allowed][:1]
    return texts, sorted(resource.natural_keys, key=lambda name: name == "idws")


def without_cells(sheet: ValidatedSheet) -> ValidatedSheet:
    """Return a sheet with only the cells that name its records."""
    names: list[str] = []
    if sheet.resource is not None:
        texts, keys = _naming_columns(sheet.resource)
        names = [name for name in sheet.frame.columns if name in {*texts, *keys}]
    return replace(sheet, frame=sheet.frame[names])


@dataclass(frozen=True, slots=True)
class Report:
    """Results of validating files, in the order of the files.

    ``limit`` is the user's, None for the default of each form. The suggested next command repeats
    ``options``, and ``validation_options`` if it is ``validate``; it does not mark the cells in a
    copy if ``marked``, as there is one already.
    """

    results: Sequence[ValidationResult]
    limit: int | None = None
    options: Sequence[str] = ()
    validation_options: Sequence[str] = ()
    marked: bool = False

    @property
    def ok(self) -> bool:
        """True if no file has errors."""
        return all(map(is_ok, self.results))

    @property
    def sheets(self) -> list[ValidatedSheet]:
        """Validated sheets."""
        return [item for item in self.results if isinstance(item, ValidatedSheet)]


_MAX_RULES = 8
_BY_RULE = {
    Severity.ERROR: Text(pt="Erros por regra ({n})", en="Errors by rule ({n})"),
    Severity.WARNING: Text(pt="Avisos por regra ({n})", en="Warnings by rule ({n})"),
}
_FIXABLE = Text(
    pt="Podem ser corrigidos com --fix: {fixable} de {found} ({rules})",
    en="{fixable} of {found} can be fixed with --fix: {rules}",
)
_TOTAL = Text(
    pt="Total · arquivos: {files} · aprovados: {good} · linhas: {rows} · erros: {errors} · "
    "avisos: {warnings}",
    en="Total · files: {files} · passed: {good} · rows: {rows} · errors: {errors} · "
    "warnings: {warnings}",
)


def summary(report: Report, verdict: Text | None = None) -> report_forms.Report:
    """Return the summary of a report: the counts of each rule, what ``--fix`` would correct, the
    next steps, and the verdict, which is by default the total of several files."""
    counts: dict[Severity, Counter[str]] = {severity: Counter() for severity in Severity}
    fixable: Counter[str] = Counter()
    for sheet in report.sheets:
        for (_, code), group in by_rule(sheet.findings).items():
            counts[group[0].kind.severity][code] += len(group)
            fixable[code] += count_corrected(group)
    found = sum(count.total() for count in counts.values())
    if verdict is None and len(report.results) > 1:
        files = {item.file for item in report.results}
        bad = {item.file for item in report.results if not is_ok(item)}
        verdict = _TOTAL.format(
            files=len(files),
            good=len(files - bad),
            rows=sum(len(sheet.rows) for sheet in report.sheets),
            errors=sum(sheet.errors for sheet in report.sheets),
            warnings=sum(sheet.warnings for sheet in report.sheets),
        )
    remark = _FIXABLE.format(fixable=fixable.total(), found=found, rules=_rules(fixable))
    return report_forms.Report(
        verdict=verdict,
        grade=Grade.ERROR if not report.ok else Grade.WARNING if found else Grade.GOOD,
        facts=[
            (_BY_RULE[severity].format(n=count.total()), _rules(count))
            for severity, count in counts.items()
            if count
        ],
        remarks=[remark] if fixable.total() else [],
        next_steps=list(_next_steps(report, has_fixes=bool(fixable.total()))),
    )


def _rules(counts: Counter[str]) -> Text:
    return list_first([f"{code} {n}" for code, n in counts.most_common() if n], _MAX_RULES)


def _next_steps(report: Report, *, has_fixes: bool) -> Iterator[Text]:
    """Yield the next steps for the only file of a report; none for several files.

    ``has_fixes``: ``--fix`` would correct some cells.
    """
    children = {id(child) for sheet in report.sheets for child in sheet.children.values()}
    sheets = [sheet for sheet in report.sheets if id(sheet) not in children]
    if not sheets or len({item.file for item in report.results}) > 1:
        return
    if sheets[0].resource is None:
        yield Text(pt="A seguir: preencha a planilha.", en="Next: fill in the sheet.")
        return
    fixes = sheets[0].fixes
    file = sheets[0].file if fixes is None else fixes.file
    if has_fixes or not report.ok:
        arguments = as_arguments(file, *report.options, *report.validation_options)
        findings = (finding for sheet in report.sheets for finding in sheet.findings)
        if has_fixes and fixes is None:
            copy = as_arguments(path_beside(Path(file.name), _FIXED_NAME))
            yield _FIX.format(arguments=arguments, copy=copy)
        elif report.marked or all(finding.cell is None for finding in findings):
            yield _CORRECT.format(arguments=arguments)
        else:
            copy = as_arguments(path_beside(Path(file.name), _MARKED_NAME))
            yield _MARK.format(arguments=arguments, copy=copy)
    elif len(sheets) == 1:
        yield _UPLOAD.format(arguments=as_arguments(file, *report.options))
    else:
        for index, sheet in enumerate(_sending_order(sheets)):
            arguments = as_arguments(file, *report.options, "--sheet", sheet.sheet)
            yield (_UPLOAD_TOO if index else _UPLOAD).format(arguments=arguments)


def _sending_order(sheets: Sequence[ValidatedSheet]) -> list[ValidatedSheet]:
    """Return the sheets with registries before the sheets that refer to them."""
    # Slow to import, and most workbooks have one sheet.
    from xlbridge.resources.references import registry_named

    def is_free(sheet: ValidatedSheet) -> bool:
        others = (one.resource for one in left if one is not sheet and one.resource)
        registries = {registry_named(one.name) for one in others} - {None}
        columns = sheet.resource.columns if sheet.resource else ()
        return registries.isdisjoint(column.references for column in columns)

    left, ordered = list(sheets), list[ValidatedSheet]()
    while left:
        ordered.append(next(filter(is_free, left), left[0]))
        left.remove(ordered[-1])
    return ordered


_UPLOAD = Text(pt="A seguir: xlbridge upload {arguments}", en="Next: xlbridge upload {arguments}")
_UPLOAD_TOO = Text(pt="Depois: xlbridge upload {arguments}", en="Then: xlbridge upload {arguments}")
_FIX = Text(
    pt="A seguir: xlbridge validate {arguments} --fix {copy}",
    en="Next: xlbridge validate {arguments} --fix {copy}",
)
_FIXED_NAME = Text(pt="-corrigida.xlsx", en="-fixed.xlsx")
_CORRECT = Text(
    pt="A seguir: corrija o arquivo, depois: xlbridge validate {arguments}",
    en="Next: correct the workbook, then: xlbridge validate {arguments}",
)
_MARK = Text(
    pt="A seguir: xlbridge validate {arguments} --annotate {copy} mostra cada célula na planilha",
    en="Next: xlbridge validate {arguments} --annotate {copy} shows each cell in the workbook",
)
_MARKED_NAME = Text(pt="-marcada.xlsx", en="-marked.xlsx")


_MAX_FIXES = 20
_FIX_EXAMPLES = 3
_MAX_UNFIXED = 10


def fixes_text(sheet: ValidatedSheet, fixes: FixedCopy) -> Iterator[str]:
    """Yield the lines about a fixed copy of a sheet; many changes are counted by column and rule,
    with examples."""
    fixed = list(sheet.titled(fixes.fixed))
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
        ((item.reason, finding.column_label), finding.cell or "")
        for item in fixes.left
        for finding in sheet.titled([item.finding])
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
