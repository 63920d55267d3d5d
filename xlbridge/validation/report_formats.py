"""Forms of the validation report: text, JSON, a page, an annotated copy of its workbook.

The page's script inserts data as text only, so that nothing in a workbook becomes markup.
Source: the product brief, ``validate``.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from xlbridge import __version__, titles
from xlbridge.i18n import Text
from xlbridge.report_forms import (
    Grade,
    Heading,
    Line,
    ReportForms,
    Table,
    list_first,
    more_text,
    render_page,
)
from xlbridge.resources.findings import (
    SEVERITY_WORDS,
    CharacterMark,
    Finding,
    Severity,
    mark_invisible,
)
from xlbridge.validation.cells.contents import quoted
from xlbridge.validation.report import (
    Report,
    by_rule,
    fixes_text,
    is_truncated,
    listed_findings,
    record_names,
    rule_key,
    summary,
    widespread_cells,
)
from xlbridge.validation.results import (
    FixedCopy,
    RefusedFile,
    SkippedSheet,
    ValidatedSheet,
    ValidationResult,
)

__all__ = [
    "report_forms",
]

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

    json_pieces = partial(_document_pieces, report)
    return ReportForms(
        document=lambda: json.loads("".join(json_pieces())),
        lines=lines,
        page=partial(report_page, report),
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
    from xlbridge.workbook.edit import AnnotatedSheet, AnnotationSummary, annotate
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
            [
                found
                for part in parts
                for found in part.titled(listed_findings(part, AnnotatedSheet.MAX_SHOWN))
            ],
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


_MAX_LISTED = 10_000
"""Default number of findings of a file that the page lists."""

_MAX_PAGE_VALUE = 500
_MAX_NAME_LENGTH = 120
_MAX_MARKS = 20
_TITLE = Text(pt="Conferência do xlbridge", en="Validation by xlbridge")
_ABOUT = Text(
    pt="Feita em {time} com o xlbridge {version}. Clique no endereço de uma célula para copiá-lo.",
    en="Created on {time} with xlbridge {version}. Click a cell's address to copy it.",
)
_NO_SCRIPT = Text(
    pt="Esta página precisa de JavaScript para mostrar os problemas; nada sai do seu computador.",
    en="This page needs JavaScript to show the findings; nothing leaves your computer.",
)
_PAGE_TEXTS = {
    "rows": Text(pt="linhas: {n}", en="rows: {n}"),
    "errors": Text(pt="erros: {n}", en="errors: {n}"),
    "warnings": Text(pt="avisos: {n}", en="warnings: {n}"),
    "place": Text(pt="{resource} · planilha {sheet}", en="{resource} · sheet {sheet}"),
    "marks": Text(pt="Sinais nos valores: {marks}", en="Signs in values: {marks}"),
    "good": Text(pt="sem erros", en="no errors"),
    "bad": Text(pt="com erros", en="with errors"),
    "not_judged": Text(pt="não conferida", en="not checked"),
    "every_severity": Text(pt="erros e avisos", en="errors and warnings"),
    "rule": Text(pt="Regra", en="Rule"),
    "every_rule": Text(pt="todas as regras", en="every rule"),
    "column": titles.COLUMN,
    "every_column": Text(pt="todas as colunas", en="every column"),
    "find": Text(pt="Célula ou linha", en="Cell or row"),
    "cell": titles.CELL,
    "severity": titles.SEVERITY,
    "value": titles.VALUE,
    "wrong": titles.WHAT_IS_WRONG,
    "todo": titles.WHAT_TO_DO,
    "record": titles.RECORD,
    "rules": Text(pt="Por regra", en="By rule"),
    "click": Text(pt="clique para filtrar", en="click to filter"),
    "shown": Text(
        pt="Mostrados {n} de {found} problemas (em toda a planilha: {total})",
        en="Showing {n} of {found} findings (in the whole sheet: {total})",
    ),
    "cut": Text(
        pt="Só os primeiros {shown} dos {total} problemas estão listados; as contagens são de "
        "todos. Para outro número: --limit N",
        en="Only the first {shown} of {total} findings are listed; the counts include all. "
        "For another number: --limit N",
    ),
    "more": Text(pt="Mostrar mais", en="Show more"),
    "jump": Text(pt="Copiar o endereço, para ir à célula", en="Copy the address, to go there"),
    "copied": Text(
        pt="Copiado: {place}. Na planilha, aperte F5 (Ir para), cole e confirme.",
        en="Copied: {place}. In the workbook press F5 (Go To), paste and confirm.",
    ),
    "go_to": Text(
        pt="Na planilha, aperte F5 (Ir para) e digite {place}",
        en="In the workbook press F5 (Go To) and type {place}",
    ),
    **{severity.value: word for severity, word in SEVERITY_WORDS.items()},
}


def report_page(report: Report) -> str:
    """Return the report as an HTML page in the active language.

    The report's limit, by default ``_MAX_LISTED``, applies to the findings listed for each file;
    counts include all.
    """
    about = _ABOUT.format(time=datetime.now().strftime("%d/%m/%Y %H:%M"), version=__version__)
    limit = _MAX_LISTED if report.limit is None else report.limit
    data = {
        "words": {name: str(word) for name, word in _PAGE_TEXTS.items()},
        "files": [_page_entry(item, limit) for item in report.results],
    }
    end = summary(report)
    if len({item.file for item in report.results}) == 1:
        found = {word: sum(getattr(sheet, word) for sheet in report.sheets) for word in _COUNTED}
        # The section of the file has the counts, to filter by.
        verdict = _VERDICTS[end.grade].format(**found) if report.sheets else _NOT_CHECKED
        end = replace(end, facts=(), verdict=verdict)
    return render_page(
        "xlbridge.validation",
        scripted=True,
        title=_TITLE,
        about=about,
        report=end,
        pictures=list(_pictures(report)),
        no_script=_NO_SCRIPT,
        data=data,
    )


_COUNTED = ("errors", "warnings")
_VERDICTS: Mapping[Grade, Text] = {
    Grade.ERROR: Text(
        pt="Não pode ser enviado assim: {errors} {errors:erro|erros} e {warnings} "
        "{warnings:aviso|avisos}.",
        en="Cannot be sent like this: {errors} {errors:error|errors} and {warnings} "
        "{warnings:warning|warnings}.",
    ),
    Grade.WARNING: Text(
        pt="Sem erros; confira {warnings} {warnings:aviso|avisos}.",
        en="No errors; check {warnings} {warnings:warning|warnings}.",
    ),
    Grade.GOOD: Text(pt="Sem erros e sem avisos.", en="No errors and no warnings."),
}
_NOT_CHECKED = Text(pt="O arquivo não foi conferido.", en="The file was not checked.")
_FINDINGS = Text(pt="Problemas", en="Findings")
_BY_FILE = Text(pt="Problemas por arquivo", en="Findings by file")
_BY_COLUMN = Text(pt="Problemas por coluna", en="Findings by column")
_BY_RULE = Text(pt="Problemas por regra", en="Findings by rule")
_LABELS = {_BY_FILE: titles.FILE, _BY_COLUMN: titles.COLUMN, _BY_RULE: titles.WHAT_IS_WRONG}
_NO_COLUMN = Text(pt="(sem coluna)", en="(no column)")
_MOST_BARS = 12


def _pictures(report: Report) -> Iterator[Table]:
    """Yield where the findings are, most first: by file if there are several, column and rule."""
    found: dict[Text, Counter[tuple[str, Severity]]] = {title: Counter() for title in _LABELS}
    for sheet in report.sheets:
        for (column, _), group in by_rule(sheet.findings).items():
            severity = group[0].kind.severity
            [first] = sheet.titled(group[:1])
            of_column = (first.header or (column and first.column) or str(_NO_COLUMN), severity)
            for title, key in (
                (_BY_FILE, (sheet.file.name, severity)),
                (_BY_COLUMN, of_column),
                (_BY_RULE, (str(group[0].kind.summary({})).removesuffix("."), severity)),
            ):
                found[title][key] += len(group)
    for title, counts in found.items():
        totals = Counter[str]()
        for (label, _), count in counts.items():
            totals[label] += count
        lines = [
            Line((label, *(counts[label, severity] for severity in Severity)))
            for label, _ in totals.most_common()
        ]
        words = [Heading(SEVERITY_WORDS[severity]) for severity in Severity]
        if len(lines) > 1:
            table = Table(
                sheet=_FINDINGS,
                title=title,
                headings=(Heading(_LABELS[title]), *words),
                lines=lines,
                bars=range(1, 1 + len(words)),
            )
            yield table.cut(_MOST_BARS)


def _page_entry(item: ValidationResult, limit: int) -> dict[str, Any]:
    if isinstance(item, RefusedFile):
        hint = item.refusal.hint
        return {
            "file": str(item.file),
            "ok": False,
            "refused": str(item.refusal),
            "hint": None if hint is None else str(hint),
        }
    if isinstance(item, SkippedSheet):
        return {"file": str(item.file), "skipped": str(item.note)}
    return {
        "file": str(item.file),
        "ok": not item.errors,
        "resource": "?" if item.resource is None else str(item.resource.title),
        "sheet": item.sheet,
        "rows": len(item.rows),
        "errors": item.errors,
        "warnings": item.warnings,
        "cut": is_truncated(item, limit),
        "readAs": None if item.read_as is None else str(item.read_as),
        "fixes": [line.strip() for line in fixes_text(item, item.fixes)] if item.fixes else [],
        **_page_details(item, limit),
    }


def _page_details(sheet: ValidatedSheet, limit: int) -> dict[str, Any]:
    """Return the rules with their counts, and the findings, whose texts are stored once."""
    texts: dict[str, int] = {}
    marks: dict[str, None] = {}

    def text_number(text: Text) -> int:
        return texts.setdefault(str(text), len(texts))

    groups = by_rule(sheet.findings)
    numbers = {key: number for number, key in enumerate(groups)}
    listed = listed_findings(sheet, limit)
    findings = [
        [
            finding.cell,
            numbers[rule_key(finding)],
            None if finding.display_value is None else _shown_value(finding.display_value, marks),
            text_number(titled.message),
            text_number(titled.hint),
            [text[:_MAX_NAME_LENGTH] for text in record_names(sheet, finding.row)],
            finding.cells,
        ]
        for finding, titled in zip(listed, sheet.titled(listed), strict=True)
    ]
    rules = [
        {
            "code": code,
            "column": (column and first.column_label) or "",
            "about": str(group[0].kind.summary({})),
            "severity": group[0].kind.severity,
            "count": len(group),
        }
        for (column, code), group in groups.items()
        for first in sheet.titled(group[:1])
    ]
    shown_marks = [*islice(marks, _MAX_MARKS)] + ["…"] * (len(marks) > _MAX_MARKS)
    return {"rules": rules, "findings": findings, "texts": list(texts), "marks": shown_marks}


def _shown_value(shown: str, marks: dict[str, None]) -> str | list[str | list[str]]:
    """Return a value as text, or as pieces of text and marks if it has invisible characters.

    A mark is a sign and its name; ``marks`` collects the distinct ones.
    """
    cut = shown[:_MAX_PAGE_VALUE] + "…" * (len(shown) > _MAX_PAGE_VALUE)
    pieces: list[str | list[str]] = [
        [piece.sign, str(piece.name)] if isinstance(piece, CharacterMark) else piece
        for piece in mark_invisible(cut)
    ]
    found = [" ".join(piece) for piece in pieces if isinstance(piece, list)]
    marks.update(dict.fromkeys(found))
    return pieces if found else cut
