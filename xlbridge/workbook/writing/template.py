"""The blank import workbook of a resource.

Source of the columns and rules: the resource's schema file, through the catalogue.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from xlbridge.resources.resource import Resource
from xlbridge.workbook.atomic import reporting_failures, require_new
from xlbridge.workbook.signature import TEMPLATE_PROPERTY
from xlbridge.workbook.writing.data_sheet import add_data_sheet, add_lists_sheet
from xlbridge.workbook.writing.instructions import add_instructions_sheet
from xlbridge.workbook.writing.new_workbook import new_workbook


def write_template(path: Path, resource: Resource) -> None:
    """Write the blank workbook: the sheet to fill in and the instructions, in Portuguese.

    The same schema gives the same bytes. Raises ``UsageError`` when the file cannot be written.
    """
    with template_workbook(path, resource):
        pass


def write_templates(
    folder: Path, resources: Iterable[Resource], *, replace: bool = False
) -> list[Path]:
    """Write the blank workbooks of all ``resources`` into a folder, made where it is missing.

    The paths are returned. Raises ``UsageError`` when one cannot be written, and, before any is,
    when one exists already and ``replace`` is not given: the analyst may have filled it in.
    """
    with reporting_failures(folder):
        folder.mkdir(parents=True, exist_ok=True)
    paths = {folder / f"{resource.name}.xlsx": resource for resource in resources}
    if not replace:
        for path in paths:
            require_new(path)
    for path, resource in paths.items():
        write_template(path, resource)
    return list(paths)


@contextmanager
def template_workbook(
    path: Path, resource: Resource, remarks: Mapping[str, int] | None = None
) -> Iterator[tuple[xlsxwriter.Workbook, Worksheet]]:
    """Give a workbook laid out as the template, and its data sheet, to be filled from row 2 on.

    ``remarks`` are the names and widths of columns to add after the resource's own. Rows must be
    written in their order. Raises ``UsageError`` when the file cannot be written.
    """
    with new_workbook(path, constant_memory=True) as book:
        book.set_custom_property(TEMPLATE_PROPERTY, resource.fingerprint)
        yield book, add_data_sheet(book, resource, remarks or {})
        add_instructions_sheet(book, resource)
        add_lists_sheet(book, resource)
