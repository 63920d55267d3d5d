"""Output formats by name, and the format and files of one export."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.export.formats.base import OpenOutput, OutputWriter, sheet_paths
from xlbridge.export.formats.text import CSV_DIALECTS, csv_opener, open_jsonl
from xlbridge.export.formats.xlsx import open_xlsx
from xlbridge.export.sheets import Sheet
from xlbridge.i18n import Text
from xlbridge.resources import Resource


@contextmanager
def open_parquet(path: Path, sheets: Sequence[Sheet]) -> Iterator[OutputWriter]:
    """Open a Parquet book. Raises ``UsageError`` when the extra ``parquet`` is not installed."""
    try:
        # Here, not above: half a second of start-up, and an extra that few need.
        module = importlib.import_module("xlbridge.export.formats.parquet")
    except ImportError:
        raise UsageError(
            Text(
                pt="Para gravar .parquet falta o pyarrow.",
                en="Writing .parquet needs pyarrow.",
            ),
            Text(
                pt='Instale com: pip install "xlbridge[parquet]"',
                en='Install it with: pip install "xlbridge[parquet]"',
            ),
        ) from None
    with module.open_parquet(path, sheets) as book:
        yield book


FORMATS: Mapping[str, OpenOutput] = {
    "xlsx": open_xlsx,
    "csv": csv_opener(CSV_DIALECTS["plain"]),
    "jsonl": open_jsonl,
    "parquet": open_parquet,
}
"""Every format, by its name, which is the file's extension too."""


def output_opener(
    form: str, csv_dialect: str | None = None, template: Resource | None = None
) -> OpenOutput:
    """Return what opens a book of a format, or the import workbook of a resource.

    Raises ``UsageError`` for a CSV dialect where no CSV is written, a template that is no .xlsx.
    """
    if template is not None:
        if form != "xlsx":
            raise UsageError(
                Text(pt="--as-template só vale para .xlsx.", en="--as-template is for .xlsx only.")
            )
        # Here, not above: what writes import sheets takes its time to import.
        from xlbridge.export.formats.template import template_opener

        return template_opener(template)
    if csv_dialect is None:
        return FORMATS[form]
    if form != "csv":
        raise UsageError(
            Text(pt="--csv-dialect só vale para .csv.", en="--csv-dialect is for .csv only.")
        )
    return csv_opener(CSV_DIALECTS[csv_dialect])


def output_paths(output: Path, form: str, sheets: Sequence[Sheet]) -> list[Path]:
    """Return the files that an export writes."""
    return [output] if form == "xlsx" else sheet_paths(output, sheets)


def output_format(output: Path, wanted: str | None) -> str:
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
