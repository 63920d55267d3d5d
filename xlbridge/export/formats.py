"""Which format an export is written in."""

from collections.abc import Mapping
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.export.books.book import OpenBook
from xlbridge.export.books.csv_book import CSV_DIALECTS, csv_opener
from xlbridge.export.books.jsonl_book import open_jsonl
from xlbridge.export.books.xlsx_book import open_xlsx
from xlbridge.i18n import Text

FORMATS: Mapping[str, OpenBook] = {
    "xlsx": open_xlsx,
    "csv": csv_opener(CSV_DIALECTS["plain"]),
    "jsonl": open_jsonl,
}
"""Every format, by its name, which is the file's extension too."""


def opener_of(form: str, csv_dialect: str | None = None) -> OpenBook:
    """Return what opens a book of a format.

    Raises ``UsageError`` for a CSV dialect where no CSV is written.
    """
    if csv_dialect is None:
        return FORMATS[form]
    if form != "csv":
        raise UsageError(
            Text(pt="--csv-dialect só vale para .csv.", en="--csv-dialect is for .csv only.")
        )
    return csv_opener(CSV_DIALECTS[csv_dialect])


def format_of(output: Path, wanted: str | None) -> str:
    """Return the format of an output file: the one wanted, else the one of its extension.

    Raises ``UsageError`` when none is wanted and the extension is of no format, or when it is of
    another format than the one wanted.
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
                pt="{file}: não sei gravar a extensão {extension!r}.",
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
