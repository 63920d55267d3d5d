"""Good rows through everything that rewrites them, column by column."""

from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from good_rows import make_rows
from sheets import write_rows
from truth import Outcome, Outcomes, validated

from xlbridge.cli.main import main
from xlbridge.resources import Resource, load_catalogue
from xlbridge.workbook.write import cell_format, records_workbook, template_sheets

_ROWS = 12

Rewrite = Callable[[Resource, Path, pd.DataFrame, Path], None]


def _write_payload(resource: Resource, _source: Path, frame: pd.DataFrame, target: Path) -> None:
    target.write_bytes(records_workbook(resource, frame))


def _run(option: str, resource: Resource, source: Path, _frame: Any, target: Path) -> None:
    options = ["--resource", resource.name]  # Two resources may have the same columns.
    main(["validate", str(source), *options, option, str(target), "-o", f"{target}.txt"])


def _fill_template(resource: Resource, _source: Path, frame: pd.DataFrame, target: Path) -> None:
    with template_sheets(target, resource) as (book, sheets):
        sheet = sheets[resource.sheet]
        formats = [cell_format(book, column) for column in resource.sheet_columns]
        for number, row in enumerate(frame.to_dict("records"), start=1):
            for position, (column, form) in enumerate(
                zip(resource.sheet_columns, formats, strict=True)
            ):
                value = row[column.name]
                if not pd.isna(value):
                    day = isinstance(value, pd.Timestamp)
                    sheet.write(number, position, value.to_pydatetime() if day else value, form)


REWRITES: Mapping[str, Rewrite] = {
    "payload": _write_payload,
    "template": _fill_template,
    "fixed copy": partial(_run, "--fix"),
    "marked copy": partial(_run, "--annotate"),
}


def evaluate_round_trips(folder: Path, every: int) -> Outcomes:
    """Evaluate each rewrite with each column of each ``every``-th resource."""
    outcomes: Outcomes = {}
    for resource in [*load_catalogue().values()][::every]:
        source = folder / f"{resource.name}.xlsx"
        names = [column.name for column in resource.columns]
        rows = make_rows(resource.name, _ROWS, "truth")
        write_rows(source, names, [[row.get(name) for name in names] for row in rows])
        texts = folder / f"{resource.name} of texts.xlsx"
        write_rows(texts, names, [[_as_text(row.get(name)) for name in names] for row in rows])
        before = validated(source, resource=resource.name)
        assert before is not None
        for way, rewrite in REWRITES.items():
            target = folder / f"{resource.name} {way}.xlsx"
            rewrite(resource, texts if way == "fixed copy" else source, before.frame, target)
            after = validated(target, resource=resource.name)
            assert after is not None
            for name in names:
                same = _same(before.frame[name], after.frame[name])
                is_reported = any(finding.column in (name, None) for finding in after.findings)
                outcome = (
                    Outcome.RIGHT if same else Outcome.REPORTED if is_reported else Outcome.SILENT
                )
                outcomes[f"round trip: {way}: {resource.name}: {name}"] = outcome
    return outcomes


def _as_text(value: Any) -> Any:
    """Return a number or date in Brazilian notation, which ``--fix`` converts back."""
    if isinstance(value, float):
        exact = f"{value:,.2f}" if round(value, 2) == value else f"{value:,}"
        return exact.translate(str.maketrans(",.", ".,"))
    if isinstance(value, date):
        return value.strftime("%d/%m/%Y")
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _same(before: pd.Series, after: pd.Series) -> bool:
    return bool(before.equals(after))
