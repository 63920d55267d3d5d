"""Validate a workbook or a DataFrame; report as DataFrames; look-ups of resources and listings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.errors import UsageError, require_choice
from xlbridge.export import LISTINGS, Listing
from xlbridge.files import require_distinct
from xlbridge.i18n import Text
from xlbridge.library.frame_workbook import FRAME_FILE, FrameWorkbook
from xlbridge.parallel import validate_single_sheet
from xlbridge.resources import Kind, Resource, load_catalogue, normalize_header
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding, Severity
from xlbridge.settings import (
    CSV_DELIMITERS,
    CSV_ENCODINGS,
    CsvForm,
    DateOrder,
    NumberStyle,
    ParseOptions,
    WorkbookLimits,
    read_settings,
)
from xlbridge.upload.planning import may_be_sent
from xlbridge.validation import ValidatedSheet, ValidationRequest, reports, validate_sheets
from xlbridge.validation.mapping import SheetMapping, read_mapping
from xlbridge.workbook import WorkbookMark

_TEXT_COLUMNS = ("cell", "column", "code", "severity", "value", "message")


class Report:
    """Result of validating a sheet: findings, and the rows as typed DataFrames.

    Every DataFrame is indexed by row: of a workbook by Excel's row number (the index is called
    ``row``), of a DataFrame by the labels of its own index. Blank rows are left out. Made by
    ``validate``.
    """

    def __init__(self, sheet: ValidatedSheet, origin: FrameWorkbook | None = None) -> None:
        self._sheet = sheet
        self._origin = origin

    @property
    def ok(self) -> bool:
        """True when the sheet may be uploaded: no errors; warnings are allowed."""
        return self._sheet.ok

    @property
    def resource(self) -> str | None:
        """The name of the resource it was judged by; None for an empty sheet that names none."""
        return None if self._sheet.resource is None else self._sheet.resource.name

    @property
    def source(self) -> Path | None:
        """The workbook; None where a DataFrame was given."""
        return None if self._origin else self._sheet.file

    @property
    def sheet(self) -> str:
        """The name of the sheet that was judged."""
        return self._sheet.sheet

    @property
    def errors(self) -> int:
        """Number of findings that stop an upload."""
        return self._sheet.errors

    @property
    def warnings(self) -> int:
        """Number of findings that do not stop an upload."""
        return self._sheet.warnings

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All rows, with one column for each of the resource's, in its order.

        Money is ``Decimal`` to the cent (dtype ``object``), dates are ``datetime64[us]`` without
        a time zone, codes and other text ``str``, whole numbers ``Int64``, other numbers
        ``Float64``, yes or no ``boolean``. An empty cell, and one whose value cannot be used, is
        missing (``None``, ``NaT``, ``NaN`` or ``NA``).
        """
        frame = self._sheet.frame.copy()
        for column in self._sheet.resource.columns if self._sheet.resource else ():
            if column.kind is Kind.MONEY and column.name in frame:
                frame[column.name] = _decimal_amounts(frame[column.name])
        frame.index = self._frame_index()
        return frame

    @property
    def good(self) -> pd.DataFrame:
        """The rows of ``frame`` without an error; none where the layout has one."""
        return self.frame[~self._has_error]

    @property
    def bad(self) -> pd.DataFrame:
        """The rows of ``frame`` with an error; all where the layout has one."""
        return self.frame[self._has_error]

    @cached_property
    def findings(self) -> pd.DataFrame:
        """Findings of the sheet: those of the layout, then those of cells by row and column.

        ``row`` (``Int64``; the frame's own labels where a DataFrame was given) is missing for the
        sheet as a whole. ``cell``, ``column``, ``code``, ``severity``, ``value`` and ``message``
        are text: ``cell`` an address such as ``C17``, in the sheet or in the one that
        ``to_excel`` makes of a DataFrame; ``code`` one of ``docs/reference/findings.md``;
        ``severity`` ``error`` or ``warning``; ``value`` the cell as it is; ``message`` in the
        language that ``set_language`` chose when the findings are first looked at.
        """
        found = list(self._finding_rows())
        columns = list(zip(*found, strict=True)) or [()] * (1 + len(_TEXT_COLUMNS))
        texts = {
            name: pd.Series(values, dtype="str")
            for name, values in zip(_TEXT_COLUMNS, columns[1:], strict=True)
        }
        return pd.DataFrame({"row": self.row_labels(columns[0])} | texts)

    def to_excel(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write a copy of the workbook with the findings marked on their cells, and a sheet that
        lists them; a DataFrame is written as a workbook first.

        Raises ``UsageError`` when ``path`` is the workbook itself, is a file that is no such copy
        (``force`` replaces it), or cannot be written; ``WorkbookRefused`` when the workbook cannot
        be copied. Format: ``docs/how-to/analyst.md``.
        """
        target = Path(path)
        require_distinct([target], [] if self._origin else [self._sheet.file])
        if not force:
            WorkbookMark.ANNOTATED.require_own(target)
        with TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as folder:
            sheet = self._sheet
            if self._origin is not None:
                file = Path(folder) / FRAME_FILE
                self._origin.write(file)
                sheet = replace(sheet, file=file)
            sheets = (replace(one, file=sheet.file) for one in sheet.with_children)
            reports.report_forms(reports.Report.of(sheets)).write("workbook", target)

    def __repr__(self) -> str:
        rows = f"{self.resource}, {len(self._sheet.rows)} rows"
        return (
            f"<Report {self._sheet.file.name}: {rows}, {self.errors} errors, "
            f"{self.warnings} warnings>"
        )

    def may_be_sent(self, *, good_rows: bool) -> bool:
        """Tell whether an upload sends rows of the sheet, leaving out those that are no records.

        With ``good_rows`` rows with errors are left out too.
        """
        return may_be_sent(self._sheet, good_rows=good_rows)

    def validated_sheet(self, folder: Path) -> ValidatedSheet:
        """Return the judged sheet with a workbook that stays: a DataFrame's is put in ``folder``.

        Raises ``UsageError`` when it cannot be written.
        """
        if self._origin is None:
            return self._sheet
        return replace(self._sheet, file=self._origin.store(folder))

    def with_sheet(self, sheet: ValidatedSheet) -> "Report":
        """Return a report of the same source whose sheet was judged further."""
        return Report(sheet, self._origin)

    def row_labels(self, rows: Sequence[int | None]) -> pd.Series:
        """Return Excel's row numbers as the frames bear them: a DataFrame's by its own labels."""
        if self._origin is None:
            return pd.Series(rows, dtype="Int64")
        labels = pd.Series([self._origin.label(row) for row in rows], dtype=object)
        is_number = pd.api.types.is_integer_dtype(self._frame_index().dtype)
        return labels.astype("Int64") if is_number else labels

    @cached_property
    def _has_error(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        rows = self._sheet.rows
        if not self._sheet.readable:
            return np.ones(len(rows), dtype=bool)
        wrong = {
            finding.row
            for finding in self._sheet.findings
            if finding.kind.severity is Severity.ERROR
        }
        return np.fromiter((row in wrong for row in rows), dtype=bool, count=len(rows))

    def _frame_index(self) -> "pd.Index[Any]":
        if self._origin is not None:
            return self._origin.labels(self._sheet.rows)
        return pd.Index(list(self._sheet.rows), dtype="int64", name="row")

    def _finding_rows(self) -> Iterator[tuple[Any, ...]]:
        for found in self._sheet.findings:
            kind = found.kind
            yield (
                found.row,
                found.cell,
                found.column,
                kind.code,
                kind.severity.value,
                found.value,
                str(found.message),
            )


def validate(
    source: str | PathLike[str] | pd.DataFrame,
    resource: str | None = None,
    *,
    sheet: str | None = None,
    dates: DateOrder | None = None,
    numbers: NumberStyle | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    schemas: str | PathLike[str] | None = None,
    map: str | PathLike[str] | None = None,  # noqa: A002 - the name of the option
    links: Mapping[str, str] | None = None,
) -> Report:
    """Check a sheet against the schema of its resource, without the network.

    ``source`` is an .xlsx, .xlsm, .xlsb, .xls, .ods or .csv file, or a DataFrame whose columns are
    named as the sheet's would be (the index is ignored; a value that Excel could not hold is judged
    as its text). ``resource`` names the resource (see ``available_resources``); without it the
    template, the sheet's name or the headers tell. ``sheet`` names the sheet of a workbook with
    several. ``dates`` is the order of day and month in text dates, ``"dmy"`` or ``"mdy"``;
    ``numbers`` is ``"pt"`` for texts such as 1.234,56 and ``"en"`` for 1,234.56; without them the
    texts of each column tell. ``delimiter`` (such as ``";"``) and ``encoding`` (``"utf-8"``,
    ``"cp1252"``, ``"utf-16"``, ``"cp850"``) declare the form of a .csv file, which its content
    tells without them. ``schemas`` is a folder of own schema files in place of the one in
    ``XLBRIDGE_HOME``. ``map`` is a mapping file for a sheet with a header of its own, as
    ``xlbridge map`` proposes it; it names the resource, and findings keep the sheet's own cells.
    ``links`` are columns that have names in place of codes, ``{"codigoDoCliente": "cliente"}`` (or
    one column of the registry's, ``"cnpj"``): ``Connection.plan`` and ``upload`` look them up.

    Wrong data is returned in the report, never raised. Raises ``UsageError`` when the file, sheet
    or resource does not exist, the resource is not recognised, or the mapping is mistaken or made
    for another header, ``WorkbookRefused`` when it is no file that can be read safely,
    ``SchemaFileError`` for a wrong schema file and ``ConfigError`` for settings that cannot be
    used.

    Source of the rules: the spec's section of each resource, which ``schemas/`` names.
    """
    require_type("source", source, str, PathLike, pd.DataFrame, hint=_HOW_TO_GIVE_A_SHEET)
    hint = HOW_TO_NAME.format(name="contasreceber")
    require_type("resource", resource, str, NoneType, hint=hint)
    require_type("map", map, str, PathLike, NoneType, hint=_HOW_TO_GIVE_A_MAPPING)
    settings = read_settings()
    folder = settings.schemas if schemas is None else existing_folder(schemas)
    reading = ParseOptions(dates=dates, numbers=numbers)
    mapping = None if map is None else read_mapping(Path(map))
    if isinstance(source, pd.DataFrame):
        if sheet is not None:
            raise UsageError(
                Text(pt="Um DataFrame não tem planilhas.", en="A DataFrame has no sheets.")
            )
        return _validate_frame(source, resource, folder, reading, mapping, links or {})
    request = ValidationRequest(
        file=Path(source),
        resource=resource,
        sheet=sheet,
        reading=reading,
        mapping=mapping,
        links=links or {},
    )
    require_choice("delimiter", delimiter, (None, *CSV_DELIMITERS.values()))
    require_choice("encoding", encoding, (None, *CSV_ENCODINGS))
    form = CsvForm(delimiter, encoding).with_defaults(settings.limits.csv)
    limits = replace(settings.limits, csv=form)
    return Report(validate_single_sheet(request, folder, limits))


def require_type(name: str, given: object, *types: type, hint: Text) -> None:
    """Raise ``UsageError`` where an argument is of another type, which a checker would tell."""
    if not isinstance(given, types):
        message = Text(
            pt="{name} não pode ser do tipo {type}.", en="{name} cannot be of the type {type}."
        )
        raise UsageError(message.format(name=name, type=type(given).__name__), hint)


_HOW_TO_GIVE_A_SHEET = Text(
    pt="Dê o caminho de um arquivo, ou um DataFrame: pd.DataFrame(linhas); de polars e pyarrow, "
    "source.to_pandas(). O que está em memória ou aberto se grava primeiro num arquivo.",
    en="Give the path of one file, or a DataFrame: pd.DataFrame(rows); of polars and pyarrow, "
    "source.to_pandas(). What is in memory or open is written into a file first.",
)
HOW_TO_NAME = Text(
    pt="Dê o nome, um texto como {name!r}.", en="Give the name, a text such as {name!r}."
)
_HOW_TO_GIVE_A_MAPPING = Text(
    pt="Dê o caminho do arquivo que xlbridge map propõe.",
    en="Give the path of the file that xlbridge map proposes.",
)


def existing_folder(schemas: str | PathLike[str]) -> Path:
    """Return a folder of own schema files. Raises ``UsageError`` when there is none."""
    folder = Path(schemas)
    if not folder.is_dir():
        message = Text(pt="A pasta {path} não existe.", en="The folder {path} does not exist.")
        raise UsageError(message.format(path=folder))
    return folder


def _validate_frame(
    frame: pd.DataFrame,
    resource: str | None,
    schemas: Path,
    reading: ParseOptions,
    mapping: SheetMapping | None,
    links: Mapping[str, str],
) -> Report:
    origin = FrameWorkbook(frame)
    request = ValidationRequest(
        file=FRAME_FILE, resource=resource, reading=reading, mapping=mapping, links=links
    )
    catalogue = load_catalogue(schemas)
    [sheet] = validate_sheets(request, catalogue, WorkbookLimits(), origin.cells).sheets
    known = sheet.resource.headers if sheet.resource else {}
    in_index = [known.get(normalize_header(str(name))) for name in frame.index.names]
    indexed = [
        Finding(CATALOGUE["column-in-index"], column=name, details={"column": name})
        for name in in_index
        if name is not None and name not in sheet.columns
    ]
    return Report(replace(sheet, findings=[*indexed, *sheet.findings]), origin)


_CENTS = 2
_NOISE = 1e-4
"""The most that binary arithmetic adds to an amount."""


def _decimal_amounts(amounts: pd.Series) -> pd.Series:
    """Return amounts (``Float64``) as ``Decimal``, missing ones as None.

    An amount with more decimal places than cents, which has a finding, keeps them.
    """
    numbers = amounts.astype(object).where(amounts.notna(), None)
    values = [number if number is None else _decimal_amount(number) for number in numbers]
    return pd.Series(values, index=amounts.index, dtype=object)


def _decimal_amount(amount: float) -> Decimal:
    is_exact = abs(amount - round(amount, _CENTS)) <= min(_NOISE, 1e-9 * max(1.0, abs(amount)))
    return Decimal(f"{amount:.{_CENTS}f}") if is_exact else Decimal(repr(amount))


def available_resources(schemas: str | PathLike[str] | None = None) -> Mapping[str, Resource]:
    """Return the resources that can be imported, by name: the shipped ones, then one's own.

    Each has its ``title``, ``columns`` (with name, kind, obligation and checks), ``required``
    columns and ``modes``. ``schemas`` is a folder of own schema files in place of the one in
    ``XLBRIDGE_HOME``. Raises ``SchemaFileError`` when one of those files is wrong.
    """
    return load_catalogue(read_settings().schemas if schemas is None else existing_folder(schemas))


def available_listings() -> Mapping[str, Listing]:
    """Return the listings that can be exported, by name.

    Each has its ``title``, ``sheets`` with their columns, and the ``filters`` that it takes, of
    which some are ``required``.
    """
    return LISTINGS
