"""Values of the columns that are proposed with high confidence arrive as the sheet has them."""

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from header_score import HALVES, Layout, layouts, proposals

import xlbridge as xb
from xlbridge.resources import Catalogue, Column, Kind
from xlbridge.validation.mapping import MappingProposal

SAMPLE = 17


def definite_mapping(proposal: MappingProposal) -> dict[str, Any]:
    """Return the mapping of the columns with high confidence; examples fill the required ones."""
    sure = {c.name: dict(c.body) for c in proposal.columns if c.confidence == "high"}
    # A name or a document is looked up later; here its text arrives.
    columns = {name: body for name, body in sure.items() if "link" not in body}
    for column in proposal.resource.columns:
        if column.required and column.name not in columns and column.name != "chave":
            example = column.example
            columns[column.name] = {
                "constant": str(example) if isinstance(example, dt.date) else example
            }
    used = {header for body in columns.values() for header in _sources(body)}
    ignore = [header for header in proposal.header if header not in used]
    content = {"version": 1, "resource": proposal.resource.name, "header": list(proposal.header)}
    return {**content, "columns": columns, "ignore": ignore}


def _sources(body: Mapping[str, Any]) -> list[str]:
    return list(body.get("join", [body["from"]] if "from" in body else []))


def meant(column: Column, body: Mapping[str, Any], cells: list[object]) -> object:
    """Return what a person means by the cells of a column, None for nothing."""
    texts = [str(cell).strip() for cell in cells if str(cell).strip()]
    if "join" in body:
        return body["with"].join(texts) or None
    (cell,), text = cells, texts[0] if texts else ""
    if not text:
        return None
    if "values" in body:
        digits = len(re.sub(r"\D", "", text))
        kind = {14: "cnpj", 11: "cpf"}.get(digits, "")
        return body["values"].get(text, body["values"].get(kind))
    if "when" in body and len(re.sub(r"\D", "", text)) != {"cnpj": 14, "cpf": 11}[body["when"]]:
        return None
    if column.kind is Kind.BOOLEAN:
        return text.casefold() in {"s", "sim", "ativo", "x", "true", "yes"}
    if column.kind is Kind.DATE:
        if isinstance(cell, dt.date):
            return cell
        return dt.datetime.strptime(text[:10], "%d/%m/%Y").date()
    if column.kind.is_number:
        if isinstance(cell, str) and "," in text:
            text = text.replace(".", "").replace(",", ".")
        return Decimal(text)
    return text


def arrived(column: Column, value: Any) -> object:
    """Return a typed value for comparison, None for a missing one."""
    if pd.isna(value):
        return None
    if column.kind is Kind.DATE:
        return pd.Timestamp(value).date()
    if column.kind is Kind.BOOLEAN:
        return bool(value)
    return Decimal(str(value)) if column.kind.is_number else value


def _bare(value: object) -> object:
    return re.sub(r"[.\-/ ()]", "", value) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("half", "step"),
    [
        *((half, SAMPLE) for half in HALVES),
        *(pytest.param(half, 1, marks=pytest.mark.slow) for half in HALVES),
    ],
)
def test_values_of_sure_columns_arrive_or_are_reported(
    tmp_path: Path, catalogue: Catalogue, half: str, step: int
) -> None:
    compared = 0
    for layout, proposal in proposals(layouts(half)[::step], catalogue):
        content = definite_mapping(proposal)
        mapped = {n: b for n, b in content["columns"].items() if "constant" not in b}
        if not mapped:
            continue
        path = layout.write(tmp_path, "sheet")
        (tmp_path / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
        report = xb.validate(path, map=tmp_path / "m.yaml")
        compared += _compare(layout, proposal, mapped, report)
    assert compared > 0


def _compare(
    layout: Layout,
    proposal: MappingProposal,
    mapped: Mapping[str, Mapping[str, Any]],
    report: xb.Report,
) -> int:
    """Compare the frame of a report with the sheet; return the number of compared cells."""
    found = report.findings
    reported = set(zip(found["row"], found["column"], strict=True))
    compared = 0
    for name, body in mapped.items():
        column = proposal.resource.by_name[name]
        at = [list(layout.header).index(header) for header in _sources(body)]
        for number, row in enumerate(layout.rows):
            value = arrived(column, report.frame[name].iloc[number])
            expected = meant(column, body, [row[index] for index in at])
            if (number + 2, name) in reported and value is None:
                continue
            assert _bare(value) == _bare(expected), (layout.what, name, number, value, expected)
            compared += 1
    return compared
