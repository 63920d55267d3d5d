"""Output formats by name, and the file, format and further files of one export."""

import importlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from xlbridge.errors import UsageError, require_folder
from xlbridge.export.formats.base import OpenOutput, OutputWriter
from xlbridge.export.formats.ods import open_ods
from xlbridge.export.formats.text import CSV_DIALECTS, csv_opener, open_jsonl
from xlbridge.export.formats.xlsx import open_template, open_xlsx
from xlbridge.export.sheets import Sheet
from xlbridge.extras import install_hint
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.settings import Headers


def open_parquet(path: Path, sheets: Sequence[Sheet]) -> AbstractContextManager[OutputWriter]:
    """Open a Parquet output. Raises ``UsageError`` if the extra ``parquet`` is not installed."""
    try:
        # Imported here: pyarrow takes half a second, and is an optional extra.
        module = importlib.import_module("xlbridge.export.formats.parquet")
    except ImportError:
        raise UsageError(
            Text(
                pt="Para gravar .parquet falta o pyarrow.",
                en="Writing .parquet needs pyarrow.",
            ),
            install_hint("parquet"),
        ) from None
    opened: AbstractContextManager[OutputWriter] = module.open_parquet(path, sheets)
    return opened


FORMATS: Mapping[str, OpenOutput] = {
    "xlsx": open_xlsx,
    "ods": open_ods,
    "csv": csv_opener(CSV_DIALECTS["plain"]),
    "jsonl": open_jsonl,
    "parquet": open_parquet,
}
"""Formats by name, which is the file's extension too."""

WORKBOOK_FORMATS = {"xlsx": open_xlsx, "ods": open_ods}
"""Formats with all sheets in one file, titles as headers, and a cover."""


@dataclass(frozen=True, slots=True)
class OutputFile:
    """File that an export writes; the format defaults to that of the extension.

    Only workbooks have titles as ``headers``; they are the default there. Sheets with titles have
    names beside codes, too, unless they have ``codes_only``.
    """

    CSV_DIALECTS: ClassVar = tuple(CSV_DIALECTS)

    path: Path
    format: str | None = None
    csv_dialect: str | None = None
    headers: Headers | None = None
    codes_only: bool = False

    def require_writable(self) -> None:
        """Raise ``UsageError`` if the file is a folder, or its folder does not exist."""
        path = self.path
        require_folder(path.parent)
        if path.is_dir():
            raise UsageError(
                Text(pt="{file} é uma pasta.", en="{file} is a folder.").format(file=path)
            )


def output_opener(
    file_format: str,
    csv_dialect: str | None = None,
    template: Resource | None = None,
    headers: Headers | None = None,
) -> OpenOutput:
    """Return the opener of a format, or of the import workbook of a resource.

    Raises ``UsageError`` for a CSV dialect with another format, a template that is not for .xlsx,
    or titles that are not for a workbook.
    """
    if file_format != "xlsx" and template is not None:
        raise UsageError(
            Text(pt="--as-template só vale para .xlsx.", en="--as-template is for .xlsx only.")
        )
    if file_format not in WORKBOOK_FORMATS and headers == "titles":
        raise UsageError(
            Text(
                pt="--headers titles só vale para .xlsx e .ods.",
                en="--headers titles is for .xlsx and .ods only.",
            )
        )
    if csv_dialect is not None and file_format != "csv":
        raise UsageError(
            Text(pt="--csv-dialect só vale para .csv.", en="--csv-dialect is for .csv only.")
        )
    if template is not None:
        return partial(open_template, template, headers or "titles")
    if file_format in WORKBOOK_FORMATS:
        return partial(WORKBOOK_FORMATS[file_format], headers=headers or "titles")
    return FORMATS[file_format] if csv_dialect is None else csv_opener(CSV_DIALECTS[csv_dialect])


def output_format(output: Path, wanted: str | None) -> str:
    """Return the format of an output file: the wanted one, or else that of its extension.

    Raises ``UsageError`` if there is neither, or if they differ.
    """
    extension = output.suffix.lower().removeprefix(".")
    if extension in FORMATS and wanted in (None, extension):
        return extension
    if extension not in FORMATS and wanted is not None:
        return wanted
    offered = Text(pt="Há: {names}.", en="There are: {names}.").format(
        names=", ".join(f".{name}" for name in FORMATS)
    )
    if extension not in FORMATS:
        raise UsageError(
            Text(
                pt="{file}: nenhum formato tem a extensão {extension!r}.",
                en="{file}: no format has the extension {extension!r}.",
            ).format(file=output, extension=output.suffix),
            offered,
        )
    raise UsageError(
        Text(
            pt="{file}: a extensão contradiz --format {wanted}.",
            en="{file}: the extension contradicts --format {wanted}.",
        ).format(file=output, wanted=wanted),
        offered,
    )
