"""The report as the contract's JSON document. Source: the product brief, ``validate``."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from xlbridge.resources.findings import Finding
from xlbridge.validation.results import (
    FixedCopy,
    RefusedFile,
    SkippedSheet,
    ValidatedSheet,
    ValidationResult,
    is_ok,
)


def fixes_json(mending: FixedCopy) -> dict[str, Any]:
    """Return the changes as JSON: dates as ISO dates, numbers with a point, both as text."""
    return {
        "file": str(mending.file),
        "changes": [
            {
                "cell": change.finding.cell,
                "row": change.finding.row,
                "column": change.finding.column,
                "code": change.finding.kind.code,
                "old": change.finding.value,
                "new": f"{change.new:f}" if isinstance(change.new, Decimal) else str(change.new),
            }
            for change in mending.changes
        ],
        "left": [
            {
                "cell": left.finding.cell,
                "row": left.finding.row,
                "column": left.finding.column,
                "code": left.finding.kind.code,
                "reason": str(left.reason),
            }
            for left in mending.left
        ],
    }


_CHUNK = 4096
_MOST_CACHED = 4096
_NO_FINDINGS = '"findings": []'

_text = json.JSONEncoder(ensure_ascii=False).encode

_Detailed = Callable[[Iterable[Finding]], list[dict[str, Any]]]


def report_json(judged: Sequence[ValidationResult], limit: int | None = None) -> dict[str, Any]:
    """Return the report as a JSON document.

    ``limit`` caps the findings listed for each file; the counts stay exact, and ``truncated``
    says that there are more. ``skipped`` are the sheets that are for no resource.
    """
    return _document(judged, limit, lambda findings: [finding_json(f) for f in findings])


def report_json_chunks(
    judged: Sequence[ValidationResult], limit: int | None = None
) -> Iterator[str]:
    """Yield the text of the same document piece by piece: it may be longer than memory is large."""
    # No string in JSON can hold the mark, as it has quotes of its own.
    skeleton = _text(_document(judged, limit, lambda _: []))
    *before, end = skeleton.split(_NO_FINDINGS)
    files = [item for item in judged if not isinstance(item, SkippedSheet)]
    for item, piece in zip(files, before, strict=True):
        yield f"{piece}{_NO_FINDINGS[:-1]}"
        yield from _findings_text(_shown(item, limit))
        yield "]"
    yield end


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return one finding as JSON; the message and the hint in the active language."""
    return {
        "cell": finding.cell,
        "row": finding.row,
        **_kind_json(finding),
        "value": finding.value,
        **_texts_json(finding),
    }


def _document(
    judged: Sequence[ValidationResult], limit: int | None, detailed: _Detailed
) -> dict[str, Any]:
    skipped = [item for item in judged if isinstance(item, SkippedSheet)]
    files = [item for item in judged if not isinstance(item, SkippedSheet)]
    return {
        "version": 1,
        "ok": all(map(is_ok, judged)),
        "files": [_file(item, limit, detailed(_shown(item, limit))) for item in files],
        "skipped": [{"file": str(item.file), "sheet": item.sheet} for item in skipped],
    }


def _shown(item: ValidatedSheet | RefusedFile, limit: int | None) -> Iterable[Finding]:
    return () if isinstance(item, RefusedFile) else islice(item.findings, limit)


def _file(
    item: ValidatedSheet | RefusedFile, limit: int | None, findings: list[dict[str, Any]]
) -> dict[str, Any]:
    if isinstance(item, RefusedFile):
        return {
            "file": str(item.file),
            "resource": None,
            "sheet": None,
            "header_row": None,
            "rows": 0,
            "errors": 1,
            "warnings": 0,
            "truncated": False,
            "refused": {"code": item.code, "message": str(item.refusal)},
            "findings": findings,
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
        "findings": findings,
        **({"fixed": fixes_json(item.mending)} if item.mending else {}),
    }


def _kind_json(finding: Finding) -> dict[str, Any]:
    return {
        "column": finding.column,
        "code": finding.kind.code,
        "severity": finding.kind.severity,
    }


def _texts_json(finding: Finding) -> dict[str, Any]:
    return {"message": str(finding.message), "hint": str(finding.hint)}


def _findings_text(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the text of findings as JSON; what many of them share is rendered once."""
    kinds: dict[tuple[str | None, str], str] = {}
    texts: dict[tuple[int, str], tuple[str, Mapping[str, object]]] = {}

    def told(finding: Finding) -> str:
        code = finding.kind.code
        kind, telling = (finding.column, code), (id(finding.details), code)
        if kind not in kinds:
            kinds[kind] = _members(_kind_json(finding))
        if telling not in texts:
            if len(texts) >= _MOST_CACHED:
                texts.clear()
            # The details are kept as well, so that their identity stays their own.
            texts[telling] = _members(_texts_json(finding)), finding.details
        cell = "null" if finding.cell is None else f'"{finding.cell}"'
        row = "null" if finding.row is None else finding.row
        value = "null" if finding.value is None else _text(finding.value)
        place = f'"cell": {cell}, "row": {row}'
        return f'{{{place}, {kinds[kind]}, "value": {value}, {texts[telling][0]}}}'

    rest = iter(findings)
    separator = ""
    while stretch := list(islice(rest, _CHUNK)):
        yield separator + ", ".join(map(told, stretch))
        separator = ", "


def _members(part: Mapping[str, Any]) -> str:
    return _text(part)[1:-1]
