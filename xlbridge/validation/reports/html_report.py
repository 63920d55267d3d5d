"""HTML form of the report.

The page's script inserts data as text only, so that nothing in a workbook becomes markup.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

from xlbridge import __version__, titles
from xlbridge.i18n import Text
from xlbridge.report_forms import Grade, Heading, Line, Table, render_page
from xlbridge.resources.findings import SEVERITY_WORDS, CharacterMark, Severity, mark_invisible
from xlbridge.validation.reports.model import (
    Report,
    by_rule,
    fixes_text,
    is_truncated,
    listed_findings,
    record_names,
    rule_key,
    summary,
)
from xlbridge.validation.results import RefusedFile, SkippedSheet, ValidatedSheet, ValidationResult

DEFAULT_LIMIT = 10_000
"""Default number of findings of a file that the page lists."""

_MAX_VALUE_LENGTH = 500
_MAX_NAME_LENGTH = 120
_MAX_MARKS = 20
_TITLE = Text(pt="Conferência do xlbridge", en="Validation by xlbridge")
_ABOUT = Text(
    pt="Feita em {time} com o xlbridge {version}. Clique no endereço de uma célula para copiá-lo.",
    en="Created on {time} with xlbridge {version}. Click a cell's address to copy it.",
)
_NO_SCRIPT = Text(
    pt="Esta página precisa de JavaScript para mostrar os achados; nada sai do seu computador.",
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
        pt="Mostrados {n} de {found} achados (em toda a planilha: {total})",
        en="Showing {n} of {found} findings (in the whole sheet: {total})",
    ),
    "cut": Text(
        pt="Só os primeiros {shown} dos {total} achados estão listados; as contagens são de "
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

    The report's limit, by default ``DEFAULT_LIMIT``, applies to the findings listed for each file;
    counts include all.
    """
    about = _ABOUT.format(time=datetime.now().strftime("%d/%m/%Y %H:%M"), version=__version__)
    limit = DEFAULT_LIMIT if report.limit is None else report.limit
    data = {
        "words": {name: str(word) for name, word in _PAGE_TEXTS.items()},
        "files": [_file(item, limit) for item in report.results],
    }
    end = summary(report)
    if len({item.file for item in report.results}) == 1:
        found = {word: sum(getattr(sheet, word) for sheet in report.sheets) for word in _COUNTED}
        # The section of the file has the counts, to filter by.
        verdict = _VERDICTS[end.grade].format(**found) if report.sheets else _NOT_CHECKED
        end = replace(end, facts=(), verdict=verdict)
    return render_page(
        "xlbridge.validation.reports",
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
_FINDINGS = Text(pt="Achados", en="Findings")
_BY_FILE = Text(pt="Achados por arquivo", en="Findings by file")
_BY_COLUMN = Text(pt="Achados por coluna", en="Findings by column")
_BY_RULE = Text(pt="Achados por regra", en="Findings by rule")
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
                (_BY_RULE, (str(group[0].kind.summary({})).rstrip(".…"), severity)),
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


def _file(item: ValidationResult, limit: int) -> dict[str, Any]:
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
        **_details(item, limit),
    }


def _details(sheet: ValidatedSheet, limit: int) -> dict[str, Any]:
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
            None if finding.display_value is None else _value(finding.display_value, marks),
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


def _value(shown: str, marks: dict[str, None]) -> str | list[str | list[str]]:
    """Return a value as text, or as pieces of text and marks if it has invisible characters.

    A mark is a sign and its name; ``marks`` collects the distinct ones.
    """
    cut = shown[:_MAX_VALUE_LENGTH] + "…" * (len(shown) > _MAX_VALUE_LENGTH)
    pieces: list[str | list[str]] = [
        [piece.sign, str(piece.name)] if isinstance(piece, CharacterMark) else piece
        for piece in mark_invisible(cut)
    ]
    found = [" ".join(piece) for piece in pieces if isinstance(piece, list)]
    marks.update(dict.fromkeys(found))
    return pieces if found else cut
