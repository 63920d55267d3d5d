"""Summary of a validation, which text and page share: counts by rule, and the next commands."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from xlbridge import report_forms
from xlbridge.files import as_arguments, path_beside
from xlbridge.i18n import Text
from xlbridge.report_forms import Grade, list_first
from xlbridge.resources.findings import Severity
from xlbridge.validation.finding_columns import count_corrected
from xlbridge.validation.reports.model import Report, by_rule
from xlbridge.validation.results import ValidatedSheet, is_ok

_MAX_RULES = 8
_BY_RULE = {
    Severity.ERROR: Text(pt="Erros por regra ({n})", en="Errors by rule ({n})"),
    Severity.WARNING: Text(pt="Avisos por regra ({n})", en="Warnings by rule ({n})"),
}
_FIXABLE = Text(
    pt="Podem ser corrigidos com --fix: {fixable} de {found}: {rules}",
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
    remark = _FIXABLE.format(fixable=fixable.total(), found=found, rules=_rules(fixable))
    return report_forms.Report(
        verdict=_total(report) if verdict is None and len(report.results) > 1 else verdict,
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


def _total(report: Report) -> Text:
    files = {item.file for item in report.results}
    bad = {item.file for item in report.results if not is_ok(item)}
    return _TOTAL.format(
        files=len(files),
        good=len(files - bad),
        rows=sum(len(sheet.rows) for sheet in report.sheets),
        errors=sum(sheet.errors for sheet in report.sheets),
        warnings=sum(sheet.warnings for sheet in report.sheets),
    )


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
        options = [*report.options, *report.validation_options]
        yield _correction(report, file, options, fix=has_fixes and fixes is None)
    elif len(sheets) == 1:
        yield _UPLOAD.format(arguments=as_arguments(file, *report.options))
    else:
        for index, sheet in enumerate(_sending_order(sheets)):
            arguments = as_arguments(file, *report.options, "--sheet", sheet.sheet)
            yield (_UPLOAD_TOO if index else _UPLOAD).format(arguments=arguments)


def _correction(report: Report, file: Path, options: Sequence[str], *, fix: bool) -> Text:
    arguments = as_arguments(file, *options)
    if fix:
        copy = _copy_name(file, Text(pt="corrigida", en="fixed"))
        return _FIX.format(arguments=arguments, copy=copy)
    findings = (finding for sheet in report.sheets for finding in sheet.findings)
    if report.marked or all(finding.cell is None for finding in findings):
        return _CORRECT.format(arguments=arguments)
    return _MARK.format(arguments=arguments, copy=_copy_name(file, Text(pt="marcada", en="marked")))


def _sending_order(sheets: Sequence[ValidatedSheet]) -> list[ValidatedSheet]:
    """Return the sheets with registries before the sheets that refer to them."""
    left, ordered = list(sheets), list[ValidatedSheet]()
    while left:
        free = (one for one in left if not any(_refers(one, to) for to in left if to is not one))
        ordered.append(next(free, left[0]))
        left.remove(ordered[-1])
    return ordered


def _refers(sheet: ValidatedSheet, other: ValidatedSheet) -> bool:
    """Return whether a sheet refers to the registry of another sheet's records."""
    # Slow to import, and most workbooks have one sheet.
    from xlbridge.resources.references import registry_named

    if sheet.resource is None or other.resource is None:
        return False
    registry = registry_named(other.resource.name)
    return registry is not None and any(
        column.references == registry for column in sheet.resource.columns
    )


def _copy_name(file: Path, suffix: Text) -> Text:
    pt, en = (
        as_arguments(path_beside(Path(file.name), f"-{word}.xlsx"))
        for word in (suffix.pt, suffix.en)
    )
    return Text(pt=pt, en=en)


_UPLOAD = Text(pt="A seguir: xlbridge upload {arguments}", en="Next: xlbridge upload {arguments}")
_UPLOAD_TOO = Text(pt="Depois: xlbridge upload {arguments}", en="Then: xlbridge upload {arguments}")
_FIX = Text(
    pt="A seguir: xlbridge validate {arguments} --fix {copy}",
    en="Next: xlbridge validate {arguments} --fix {copy}",
)
_CORRECT = Text(
    pt="A seguir: corrija o arquivo, depois: xlbridge validate {arguments}",
    en="Next: correct the workbook, then: xlbridge validate {arguments}",
)
_MARK = Text(
    pt="A seguir: xlbridge validate {arguments} --annotate {copy} mostra cada célula na planilha",
    en="Next: xlbridge validate {arguments} --annotate {copy} shows each cell in the workbook",
)
