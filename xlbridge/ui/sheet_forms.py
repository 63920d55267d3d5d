"""JSON for the page: the open sheet, the form of its mapping, and jobs with their reports and
totals."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import Any

from xlbridge import titles
from xlbridge.errors import UsageError
from xlbridge.files import write_private
from xlbridge.i18n import Text, count_text, joined, untranslated
from xlbridge.report_forms import Report, ReportForms
from xlbridge.resources import KEY, Catalogue, Column, Kind, Resource
from xlbridge.resources.findings import CorrectedValue
from xlbridge.resources.references import BRANCH, REFERENCES
from xlbridge.resources.yaml_files import Mistake
from xlbridge.settings import Settings
from xlbridge.ui.answers import FieldProblem, InvalidFields, table_json
from xlbridge.ui.cell_edits import displayed_text, value_text
from xlbridge.ui.environment import RegistryNames
from xlbridge.ui.sheet_editor import MAPPING, SheetEditor
from xlbridge.ui.texts import FILL_IN, NOT_CONFIRMED
from xlbridge.upload import Job, State, UploadContext
from xlbridge.upload.planning import may_be_sent
from xlbridge.upload.results import ControlTotals, history_table, job_json, job_report
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.cells import number_meanings
from xlbridge.validation.header_row import header_key
from xlbridge.validation.mapping import (
    MappingProposal,
    SheetMapping,
    column_body,
    confirmed_mapping_text,
    foreign_columns,
    mapping_for,
    propose_mapping,
    read_mapping,
    reason_text,
    remember_mapping,
    remembered_mappings,
)
from xlbridge.workbook import CellPosition, cell_address, column_letters
from xlbridge.workbook.read import SheetCells

_SAMPLES = 3
_MAX_CHANGES = 20
_YES_OR_NO = {"sim": True, "yes": True, "true": True, "não": False, "no": False, "false": False}
_NAME = re.compile(r"[^\W\d_][^\d]*")
_NO_COLUMN = Text(
    pt="A coluna escolhida não está mais na planilha; abra-a de novo.",
    en="The chosen column is no longer in the sheet; open it again.",
)


def sheet_version(editor: SheetEditor) -> str:
    """Return a text that changes with every change of the sheet."""
    return f"{editor.path.parent.name}-{editor.version}"


def sheet_json(editor: SheetEditor, mapping: str = "confirmed") -> dict[str, Any]:
    """Return the chosen sheet, with the findings of the shown one, for the page.

    ``mapping`` is the origin of its mapping.
    """
    with editor.lock:
        sheet, shown = editor.validated, editor.findings_view.sheet
        resource = sheet.resource
        parts: list[dict[str, Any]] = [
            {"sheet": p.sheet, "errors": p.errors, "refused": editor.remarks.count(p.sheet)}
            for p in editor.parts
        ]
        errors = sum(part["errors"] + part["refused"] for part in parts)
        sendable = may_be_sent(sheet, good_rows=False)
        return {
            "id": editor.id,
            "version": sheet_version(editor),
            "shown": shown.sheet,
            "parts": parts,
            "file": editor.name,
            "read_as": str(editor.workbook.read_as or ""),
            "sheet": sheet.sheet,
            "sheets": editor.sheet_names,
            "unit": None if editor.unit is None else asdict(editor.unit),
            "resource": None if resource is None else resource.name,
            "title": "" if resource is None else str(resource.title),
            "header_row": sheet.header_row,
            "rows": len(shown.rows),
            "height": editor.cells.height,
            "errors": shown.errors,
            "warnings": shown.warnings,
            "refused": editor.remarks.count(shown.sheet),
            "not_records": len(shown.non_records),
            "sendable": sendable,
            "counts": _counts_text(editor, errors, sendable=sendable),
            "edited": editor.edited,
            "aside": len(editor.set_aside),
            "undo": editor.next_undo,
            "redo": editor.next_redo,
            "changeable": resource is not None and resource.change is not None,
            "columns": _columns(editor),
            "layout": asdict(editor.layout),
            "rules": [*editor.remarks.rules(shown.sheet), *editor.findings_view.rules()],
            "dates": editor.choice.reading.dates,
            "numbers": editor.choice.reading.numbers,
            "mapping": _current_form(editor, mapping),
        }


def changes_json(
    changes: Mapping[CellPosition, tuple[str, CorrectedValue]],
) -> dict[str, Any]:
    """Return the number of cells to be changed, and the first ones with both values."""
    shown = [
        {"cell": cell_address(*position), "before": before, "after": value_text(after)}
        for position, (before, after) in islice(changes.items(), _MAX_CHANGES)
    ]
    return {"count": len(changes), "cells": shown}


def counts_json(
    values: Counter[str],
    most: int,
    arranged: Callable[[Iterable[str]], list[str]] = list,
) -> dict[str, Any]:
    """Return the most frequent values, as they are ``arranged``, with their counts, and the number
    of other values."""
    listed = arranged(value for value, _ in values.most_common(most))
    shown = [{"value": value, "count": values[value]} for value in listed]
    return {"values": shown, "more": len(values) - len(shown)}


_COUNTS = Text(
    pt="Linhas: {rows} · erros: {errors}{refused} · avisos: {warnings}",
    en="Rows: {rows} · errors: {errors}{refused} · warnings: {warnings}",
)
_REFUSED = Text(
    pt=" (recusados pelo sistema ou pelo lote: {n})",
    en=" (refused by the system or the batch: {n})",
)
_ELSEWHERE = Text(
    pt="erros nas outras planilhas do arquivo: {n}", en="errors in the file's other sheets: {n}"
)
_ASIDE = Text(pt="linhas deixadas de fora: {n}", en="rows set aside: {n}")
_EDITED = Text(pt="células alteradas: {n}", en="cells changed: {n}")
_ALL_GOOD = Text(
    pt="Nenhum erro: a planilha pode ser enviada.", en="No errors: the sheet can be sent."
)


def _counts_text(editor: SheetEditor, errors_of_all: int, *, sendable: bool) -> str:
    """Return the rows and findings of the shown sheet, and the errors of the file's others; an
    error counts once, whoever found it: the validation, the plan, the system or the batch."""
    shown = editor.findings_view.sheet
    refused = editor.remarks.count(shown.sheet)
    errors = shown.errors + refused
    counts = {"rows": len(shown.rows), "errors": errors, "warnings": shown.warnings}
    by_others = _REFUSED.format(n=count_text(refused)) if refused else ""
    texts = [
        _COUNTS.format(refused=by_others, **{name: count_text(n) for name, n in counts.items()}),
        *(
            text.format(n=count_text(n))
            for text, n in (
                (_ELSEWHERE, errors_of_all - errors),
                (_ASIDE, len(editor.set_aside)),
                (_EDITED, editor.edited),
            )
            if n
        ),
        *([_ALL_GOOD] if sendable and not errors else []),
    ]
    return str(joined(texts, " · "))


def _columns(editor: SheetEditor) -> list[dict[str, Any]]:
    """Return the columns of the shown sheet: letters, the user's header, the resource's column with
    its title and closed list of values."""
    cells, sheet = editor.cells, editor.findings_view.sheet
    header = sheet.header_row
    known = {} if sheet.resource is None else sheet.resource.by_name
    mapping = editor.choice.mapping if editor.shows_chosen else None
    sources: dict[str, list[str]] = {}
    for name, mapped in () if mapping is None else mapping.by_path.items():
        for source in mapped.sources:
            sources.setdefault(header_key(source), []).append(name)
    shown = []
    for index in editor.column_indexes:
        text = "" if header is None else displayed_text(cells, (header, index))
        names = editor.findings_view.names(index) or sources.get(header_key(text), ())
        column = editor.column_at(index)
        title = " + ".join(str(known[name].title) if name in known else name for name in names)
        allowed: Sequence[str] = () if column is None else column.allowed
        if column is not None and column.kind is Kind.BOOLEAN:
            allowed = [str(titles.YES), str(titles.NO)]
        shown.append(
            {
                "index": index,
                "letters": column_letters(index),
                "header": text,
                "name": " + ".join(names) or None,
                "title": title or None,
                "required": column is not None and column.required,
                "numeric": column is not None and column.kind in {Kind.MONEY, Kind.NUMBER},
                "allowed": list(allowed),
                "is_date": column is not None and column.kind is Kind.DATE,
                "has_names": editor.registry(index) is not None,
            }
        )
    return shown


def remembered_mapping(
    editor: SheetEditor, settings: Settings, resource: str | None
) -> SheetMapping | None:
    """Return the mapping remembered for the header of the open sheet."""
    mappings = remembered_mappings(settings.mappings)
    if not mappings:
        return None
    sheets = [it for it in editor.workbook.sheets if editor.choice.sheet in {None, it.name}]
    return mapping_for(replace(editor.workbook, sheets=sheets), mappings, resource)


def proposed_mapping(
    editor: SheetEditor,
    catalogue: Catalogue,
    settings: Settings,
    resource: str | None,
    sheet: str | None,
    header_row: int | None,
) -> MappingProposal:
    """Return a proposed mapping of the open sheet. Raises ``UsageError`` as ``propose_mapping``
    does."""
    return propose_mapping(
        editor.path,
        catalogue,
        settings.limits,
        resource=resource,
        earlier=remembered_mappings(settings.mappings),
        header_row=header_row,
        sheet=sheet,
        workbook=lambda: editor.workbook,
    )


def proposed_form(editor: SheetEditor, proposal: MappingProposal) -> dict[str, Any]:
    """Return the form of a proposed mapping."""
    columns = {name: dict(column.body) for name, column in proposal.all_columns.items()}
    cells = editor.sheet_cells(proposal.sheet)
    form = _form("proposed", proposal.resource, cells, proposal.header_row, columns)
    once = [name for name, one in proposal.lists.items() if one.once]
    form |= {"rows": proposal.rows, "once": once, "accept": proposal.accept}
    reasons = {name: str(reason_text(column)) for name, column in proposal.all_columns.items()}
    return form | {"reasons": reasons}


def asked_columns(proposal: MappingProposal, asked: MappingProposal) -> dict[str, Any]:
    """Return the columns of a proposal that ask for more than another one, with the reasons."""
    known = proposal.all_columns
    found = {name: one for name, one in asked.all_columns.items() if one is not known[name]}
    return {
        "columns": {name: dict(one.body) for name, one in found.items()},
        "reasons": {name: str(reason_text(one)) for name, one in found.items()},
        "error": None,
    }


def _current_form(editor: SheetEditor, kind: str) -> dict[str, Any] | None:
    """Return the form of the columns in use, None if the sheet is not recognised."""
    sheet, mapping = editor.validated, editor.choice.mapping
    cells = editor.sheet_cells(sheet.sheet)
    if sheet.resource is None or sheet.header_row is None:
        return None
    if mapping is None and (sheet.words or not sheet.numbers.columns.empty):
        # A mapping would lose the words that the workbook carries, the system's own numbers, and
        # keys made of several columns.
        return None
    if mapping is not None:
        columns = {name: column.body for name, column in mapping.by_path.items()}
        form = _form(kind, sheet.resource, cells, sheet.header_row, columns)
        once = [name for name, one in mapping.lists.items() if one.once]
        return form | {"rows": mapping.rows, "once": once, "accept": mapping.accept}
    header = sheet.header_row
    columns = {
        name: {"from": _header_text(cells, header, column - cells.first_column)}
        for name, column in sheet.columns.items()
        if name in sheet.resource.by_name
    }
    return _form("own", sheet.resource, cells, header, columns)


def chosen_column(
    editor: SheetEditor, resource: Resource, sheet: str, header_row: int, header: str, name: str
) -> Mapping[str, Any]:
    """Return the mapping of a header to the column that the user chose for it."""
    columns, _ = foreign_columns(editor.sheet_cells(sheet), header_row - 1)
    column = next((foreign for foreign in columns if foreign.header == header), None)
    target = resource.column_at(name)
    if column is None or target is None:
        raise UsageError(_NO_COLUMN)
    list_name, _, rest = name.partition(".")
    if list_name == resource.name and target.name in resource.natural_keys:
        # The records of a row have its number, and their own.
        return {"from": header, "suffix": f"/{rest.partition('.')[0]}"}
    return column_body(target, column)


def confirmed_mapping(
    editor: SheetEditor,
    resource: Resource,
    form: Mapping[str, Any],
    names: Callable[[str], Mapping[str, str]],
    file: str = MAPPING,
) -> SheetMapping:
    """Write a confirmed mapping into a file beside the open workbook, and return it.

    ``names`` returns the names of a registry's records by their codes. Raises ``UsageError`` naming
    each mistake.
    """
    cells = editor.sheet_cells(form["sheet"])
    path = editor.path.parent / file
    columns: dict[str, Mapping[str, Any]] = {}
    for name, body in form["columns"].items():
        columns[name] = typed = dict(body)
        column = resource.column_at(name)
        kind = None if column is None else column.kind
        if "constant" in typed:
            typed["constant"] = constant = _parse_value(kind, typed["constant"])
            is_name = isinstance(constant, str) and _NAME.fullmatch(constant)
            if column is not None and column.references is not None and is_name:
                # The name of a record, whose code is looked up.
                typed["link"] = REFERENCES[column.references].resource or column.references
        if str(typed.get("later", "")).isdecimal():
            typed["later"] = int(typed["later"])
        if "values" in typed and "link" in typed:
            # Links are looked up by names; a code stands for the name of its record.
            registry = None if column is None else column.references
            known = names(registry) if registry else {}
            typed["values"] = {
                text: f"{code} – {known[code]}" if (code := str(it).strip()) in known else it
                for text, it in typed["values"].items()
            }
        elif "values" in typed:
            typed["values"] = {text: _parse_value(kind, it) for text, it in typed["values"].items()}
    rows, once = form.get("rows") or {}, form.get("once") or ()
    accept, header_row = form.get("accept") or (), form["header_row"]
    text = confirmed_mapping_text(cells, header_row, resource.name, columns, rows, once, accept)
    write_private(path, text)
    return read_mapping(path)


_A_NUMBER = Text(
    pt="“{value}” não é um número; digite o número de {title}.",
    en="“{value}” is not a number; enter the number of {title}.",
)
_YES_NO = Text(pt="Digite sim ou não.", en="Enter yes or no.")


def mapping_problems(
    resource: Resource, form: Mapping[str, Any], mistakes: Sequence[Mistake]
) -> InvalidFields:
    """Return the error of a mapping's form, with the mistakes of its file at their fields."""
    places: dict[str, tuple[str, str | None, Any]] = {}
    for name, body in form["columns"].items():
        places[f"columns.{name}"] = name, None, None
        places[f"columns.{name}.constant"] = name, None, body.get("constant")
        for word, value in body.get("values", {}).items():
            places[f"columns.{name}.values.{word}"] = name, word, value
    problems, others = [], []
    for mistake in mistakes:
        if mistake.place not in places:
            others.append(f"{mistake.place}: {mistake.message}".removeprefix(": "))
            continue
        name, word, value = places[mistake.place]
        column = resource.by_name.get(name)
        text = _value_problem(column, value) if mistake.place != f"columns.{name}" else None
        problems.append(FieldProblem(name, word, str(text or mistake.message)))
    message = untranslated(" ".join([str(NOT_CONFIRMED), *others]))
    return InvalidFields(message, problems)


def name_problems(problems: Sequence[FieldProblem]) -> InvalidFields:
    """Return the error of a mapping's form about names without a record."""
    return InvalidFields(NOT_CONFIRMED, problems)


def only_names(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping's form with only the columns that have names for all rows or for words."""
    columns = dict[str, Any]()
    for name, body in form["columns"].items():
        values = {word: it for word, it in body.get("values", {}).items() if it and it != "?"}
        if body.get("constant"):
            columns[name] = body
        elif body.get("link") and values:
            columns[name] = {**body, "values": values}
    return {**form, "columns": columns, "rows": {}, "once": []}


def _value_problem(column: Column | None, value: Any) -> Text | None:
    """Return the message of a value that is not of a column's kind, None if its kind is right."""
    parsed = _parse_value(None if column is None else column.kind, value)
    if parsed is None or parsed == "?":
        return FILL_IN
    if column is not None and column.kind.is_number and isinstance(parsed, str):
        return _A_NUMBER.format(value=parsed, title=column.title)
    is_flag = column is not None and column.kind is Kind.BOOLEAN
    return _YES_NO if is_flag and not isinstance(parsed, bool) else None


def remember(editor: SheetEditor, settings: Settings) -> None:
    """Remember the mapping of a sheet with rows for the next time."""
    mapping = editor.choice.mapping
    if mapping is not None and len(editor.validated.rows):
        remember_mapping(settings.mappings, mapping)


def _parse_value(kind: Kind | None, value: Any) -> Any:
    text = str(value).strip()
    if value is None or not text:
        return None
    if kind is Kind.BOOLEAN and text.casefold() in _YES_OR_NO:
        return _YES_OR_NO[text.casefold()]
    meanings = number_meanings(text) if kind and kind.is_number else None
    number = None if meanings is None else meanings.native or meanings.foreign
    if number is None:
        return text
    return int(number) if number == int(number) else float(number)


def _form(
    kind: str,
    resource: Resource,
    cells: SheetCells,
    header_row: int,
    columns: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    texts = [_header_text(cells, header_row, index) for index in range(len(cells.columns))]
    counts = Counter(map(header_key, texts))
    headers = [
        {
            "letters": column_letters(cells.first_column + index),
            "header": header,
            "samples": _samples(cells, header_row, index),
            "usable": counts[header_key(header)] == 1,
        }
        for index, header in enumerate(texts)
        if header
    ]
    return {
        "kind": kind,
        "resource": resource.name,
        "title": str(resource.title),
        "sheet": cells.name,
        "header_row": header_row,
        "headers": headers,
        "columns": columns,
        "rows": {},
        "once": [],
        "accept": (),
        "reasons": {},
        "targets": [*_targets(resource, columns)],
    }


def _targets(resource: Resource, columns: Iterable[str]) -> Iterator[dict[str, object]]:
    """Yield the columns that a header may be mapped to: those of the resource, and of the items in
    the rows of a sheet with lists."""
    for column in resource.columns:
        named = {"name": column.name, "title": str(column.title), "required": column.required}
        yield {**named, "differs": "no_repeats" in column.checks}
    of_records = [path for path in columns if path.startswith(f"{resource.name}.")]
    for path in of_records:
        number, name = path.split(".")[1:]
        title = f"{resource.title} {number} · {resource.by_name[name].title}"
        yield {"name": path, "title": title, "required": False, "differs": False}
    used = {
        tuple(path.split(".")[:2]) for path in columns if "." in path and path not in of_records
    }
    for child in resource.children if used else ():
        blocks = [one for one in used if one[0] == child.sheet] or [(child.sheet, "1")]
        for name, number in sorted(blocks):
            for column in (one for one in child.columns if one.name != KEY):
                title = f"{child.title} {number} · {column.title}"
                path = f"{name}.{number}.{column.name}"
                yield {"name": path, "title": title, "required": False, "differs": False}


def _header_text(cells: SheetCells, header_row: int, index: int) -> str:
    text = displayed_text(cells, (header_row, cells.first_column + index))
    return " ".join(text.split())


def _samples(cells: SheetCells, header_row: int, index: int) -> list[str]:
    """Return the first distinct values below a header."""
    samples: dict[str, None] = {}
    for row in range(header_row + 1, min(cells.height, header_row + 200) + 1):
        if text := displayed_text(cells, (row, cells.first_column + index)):
            samples[text] = None
        if len(samples) == _SAMPLES:
            break
    return list(samples)


HOW_TO_CONFIRM = Text(
    pt="Abra a planilha, veja o plano e envie.", en="Open the workbook, see the plan and send."
)


def listed_job(context: UploadContext, job: Job) -> dict[str, Any]:
    """Return a job with what the page offers for it."""
    has_ended = job.state.is_final and job.state is not State.NEEDS_PERSON
    listed = job_json(context.journal, job, with_rows=False)
    resource, rows = context.catalogue.get(job.spec.resource), listed["rows"]
    change = None if resource is None else resource.change
    can_delete = change is not None and change.delete_name is not None
    return listed | {
        "final": job.state.is_final,
        "sent": not job.state.is_unsent,
        "doubtful": job.state is State.NEEDS_PERSON,
        "is_upload": not job.is_task,
        "can_undo": not (job.is_task or job.deletes or resource is None)
        and has_ended
        and (rows["updated"] > 0 or (can_delete and rows["created"] > 0)),
    }


def job_details(context: UploadContext, job: Job) -> dict[str, Any]:
    """Return a job with its history and its report as lines."""
    history = [list(map(str, line.values[:2])) for line in history_table(job).lines]
    report = titled_report(context, job)
    if not job.is_task:
        # The page has buttons for the next step, unless that is to wait.
        steps = report.next_steps if job.state is State.IN_DOUBT else []
        report = replace(
            report, next_steps=[*steps, HOW_TO_CONFIRM] if job.state.is_unsent else steps
        )
    lines = report_lines(report)
    shown = [line.strip() for line in lines] if job.is_task else lines
    return listed_job(context, job) | {"history": history, "lines": shown}


def job_totals(
    context: UploadContext, job: Job, names: RegistryNames, sheet: ValidatedSheet | None = None
) -> list[dict[str, Any]]:
    """Return the control totals of a job's rows as they are now, of its sheet if it is at hand."""
    branches = names.known(BRANCH)
    return list(map(table_json, ControlTotals.of_job(context, job, sheet, branches)))


def titled_report(context: UploadContext, job: Job) -> Report:
    """Return the report of a job, with the titles of the columns. The reasons of rejected rows are
    in the grid and the control totals."""
    resource = context.catalogue.get(job.spec.resource)
    return job_report(context.journal, job, resource, with_reasons=False)


def report_lines(report: Report) -> list[str]:
    """Return a report as lines of text."""
    return list(map(str, ReportForms.of_report(lambda: report).lines()))
