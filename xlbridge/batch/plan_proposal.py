"""Plan for the workbooks of a folder: what each of them is, and the file that sends them."""

import glob
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.batch.plan_reader import with_month
from xlbridge.batch.plan_steps import BatchPlan, WorkbookFile, WorkbookStep, workbooks_of
from xlbridge.errors import UsageError, XlbridgeError, require_folder
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, load_catalogue, strip_accents
from xlbridge.settings import Settings
from xlbridge.validation import (
    AcceptedFindings,
    RefusedFile,
    ValidatedSheet,
    ValidationRequest,
    ValidationResult,
    validate_file,
)
from xlbridge.workbook.read import read_workbook

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping

__all__ = ["WORKBOOK_ENDINGS", "FoundWorkbook", "find_workbooks", "plan_name", "write_plan"]

PLAN_NAME = "plan.yaml"
WORKBOOK_ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".csv")
_NOT_RECOGNISED = Text(
    pt="Não reconhecida. Abra-a em Abrir, confirme as colunas uma vez e volte.",
    en="Not recognised. Open it under Open, confirm the columns once, and come back.",
)
_PLAN_EXISTS = Text(
    pt="A pasta já tem um plano: {path}.", en="The folder already has a plan: {path}."
)
_NO_WORKBOOK = Text(pt="Escolha ao menos uma planilha.", en="Choose at least one workbook.")


@dataclass(frozen=True, slots=True)
class FoundWorkbook:
    """Sheet of a workbook in a folder, and what it is; ``problem`` is why it cannot be sent.

    ``sheet`` is None if the workbook has one sheet only. ``mapping`` reads its own headers.
    """

    file: str
    resource: str | None = None
    sheet: str | None = None
    rows: int = 0
    errors: int = 0
    mapping: "SheetMapping | None" = None
    problem: Text | None = None


def find_workbooks(folder: Path, settings: Settings) -> Iterator[FoundWorkbook]:
    """Yield the workbooks of a folder, but for what batches and uploads write there.

    Headers that were confirmed before are read as then. Raises ``UsageError`` if there is no such
    folder.
    """
    require_folder(folder)
    patterns = tuple(f"*{ending}" for ending in WORKBOOK_ENDINGS)
    step = WorkbookStep(name="all", patterns=patterns)
    plan = BatchPlan(folder / PLAN_NAME, "all", {}, (step,), "proof")
    for book in sorted(workbooks_of(plan, step), key=lambda book: book.name.casefold()):
        yield from _sheets_of(book, settings)


def _sheets_of(book: WorkbookFile, settings: Settings) -> Iterator[FoundWorkbook]:
    # Slow to import, and only needed for sheets with headers of their own.
    from xlbridge.validation.mapping import mapping_for, remembered_mappings

    catalogue = load_catalogue(settings.schemas)
    accepted = AcceptedFindings.of((), settings.accepted)
    request = ValidationRequest(file=book.path, accepted=accepted)
    results = validate_file(request, catalogue, settings.limits)
    sheets, mapping = _known_sheets(results), None
    if not sheets:
        try:
            cells = read_workbook(book.path, settings.limits)
        except XlbridgeError as error:
            yield FoundWorkbook(book.name, problem=error.message)
            return
        mapping = mapping_for(cells, remembered_mappings(settings.mappings), None)
        if mapping is not None:
            request = ValidationRequest(file=book.path, mapping=mapping, accepted=accepted)
            sheets = _known_sheets(validate_file(request, catalogue, settings.limits))
    for sheet in sheets:
        yield FoundWorkbook(
            book.name,
            sheet.resource_name,
            sheet.sheet if len(sheets) > 1 else None,
            len(sheet.rows),
            sum(part.errors for part in sheet.with_children),
            mapping,
        )
    if not sheets:
        refusal = next((one.refusal for one in results if isinstance(one, RefusedFile)), None)
        is_refused = refusal is not None and not isinstance(refusal, UsageError)
        yield FoundWorkbook(
            book.name, problem=refusal.message if refusal and is_refused else _NOT_RECOGNISED
        )


def _known_sheets(results: Sequence[ValidationResult]) -> list[ValidatedSheet]:
    """Return the sheets of a workbook that were recognised, without those of lists."""
    sheets = [one for one in results if isinstance(one, ValidatedSheet) and one.readable]
    lists = {id(child) for sheet in sheets for child in sheet.children.values()}
    return [sheet for sheet in sheets if sheet.resource is not None and id(sheet) not in lists]


def write_plan(
    folder: Path, name: str, month: str, chosen: Sequence[FoundWorkbook], catalogue: Catalogue
) -> Path:
    """Write the plan of a month that sends the chosen workbooks of a folder; return its path.

    Workbooks of one resource are one step, named like it. Raises ``UsageError`` if the folder has a
    plan, nothing is chosen, ``month`` is not one, or the files cannot be written.
    """
    path = folder / PLAN_NAME
    if path.exists():
        raise UsageError(_PLAN_EXISTS.format(path=path))
    steps: dict[str, list[FoundWorkbook]] = {}
    for book in chosen:
        if book.resource is not None:
            header = None if book.mapping is None else book.mapping.path.stem[:8]
            parts = (str(catalogue[book.resource].title), book.sheet, header)
            steps.setdefault(" · ".join(filter(None, parts)), []).append(book)
    if not steps:
        raise UsageError(_NO_WORKBOOK)
    lines = [
        "version: 1",
        f"name: {plan_name(name)}",
        f"parameters: {json.dumps(with_month({}, month))}",
        "steps:",
    ]
    for step, books in steps.items():
        first = books[0]
        files = [glob.escape(book.file) for book in books]
        lines += [
            f"  {json.dumps(step, ensure_ascii=False)}:",
            f"    upload: {json.dumps(files, ensure_ascii=False)}",
        ]
        if first.mapping is None:
            lines.append(f"    resource: {first.resource}")
        else:
            mapping = folder / f"colunas-{plan_name(step)}.yaml"
            with replace_atomically(mapping, shared=True) as temporary:
                shutil.copyfile(first.mapping.path, temporary)
            lines += [f"    resource: {first.resource}", f"    map: {mapping.name}"]
        if first.sheet is not None:
            lines.append(f"    sheet: {json.dumps(first.sheet, ensure_ascii=False)}")
    with replace_atomically(path, shared=True) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def plan_name(text: str) -> str:
    """Return a text as the name of a plan: lowercase letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", strip_accents(text).casefold()).strip("-")
