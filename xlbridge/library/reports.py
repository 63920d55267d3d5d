"""Work without a system: validation of a workbook or DataFrame and its report, fixed copies,
proposed mappings, templates, and the resources and listings available.

The built-in ``map`` is hidden here by the function named for the command.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from xlbridge.errors import SchemaFileError, UsageError, require_choice, require_folder
from xlbridge.export import LISTINGS, Listing
from xlbridge.files import replace_atomically, require_distinct, require_new
from xlbridge.i18n import Text
from xlbridge.library.sources import FrameWorkbook, Origin, Source, as_file, read_source, store
from xlbridge.parallel import validate_single_sheet
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.resources import Kind, Resource, load_catalogue, normalize_header
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.settings import (
    CSV_DELIMITERS,
    CSV_ENCODINGS,
    CsvForm,
    DateOrder,
    Headers,
    NumberStyle,
    ParseOptions,
    Settings,
    WorkbookLimits,
    read_settings,
)
from xlbridge.upload.planning import may_be_sent
from xlbridge.validation import (
    AcceptedFindings,
    ValidatedSheet,
    ValidationRequest,
    fix_workbook,
    validate_sheets,
)
from xlbridge.validation.mapping import read_mapping
from xlbridge.workbook import WorkbookMark

if TYPE_CHECKING:
    import pandera.pandas as pa

    PanderaSchema = pa.DataFrameSchema | type[pa.DataFrameModel]
    ResourceChoice = str | PanderaSchema
    """Name of a resource, or a pandera schema or model as one."""


_TEXT_COLUMNS = ("cell", "column", "code", "severity", "value", "message", "hint")
_MAX_ROWS_SHOWN = 20


def html_of(result: object, frame: pd.DataFrame) -> str:
    """Return a result for a notebook: its summary and the first rows of its frame."""
    return f"<p>{escape(repr(result))}</p>{frame.to_html(index=False, max_rows=_MAX_ROWS_SHOWN)}"


class Report:
    """Result of validating a sheet: findings, and the rows as typed DataFrames.

    Returned by ``validate``. Its DataFrames are indexed by Excel's row number (index name ``row``)
    for a workbook, by the labels of the frame's own index for a DataFrame. Blank rows are left out.
    """

    def __init__(self, sheet: ValidatedSheet, origin: Origin | None = None) -> None:
        self._sheet = sheet
        self._origin = origin
        self._frame = origin if isinstance(origin, FrameWorkbook) else None

    @property
    def ok(self) -> bool:
        """True if the sheet may be uploaded: no errors; warnings are allowed."""
        return self._sheet.ok

    @property
    def resource(self) -> str | None:
        """Name of the resource it was validated against; None for an empty sheet without one."""
        return None if self._sheet.resource is None else self._sheet.resource.name

    @property
    def source(self) -> Path | None:
        """Path of the workbook; None if it was passed as a DataFrame or in memory."""
        return None if self._origin else self._sheet.file

    @property
    def sheet(self) -> str:
        """Name of the validated sheet."""
        return self._sheet.sheet

    @property
    def errors(self) -> int:
        """Number of findings that prevent an upload, in the sheet and its child sheets."""
        return sum(sheet.errors for sheet in self._sheet.with_children)

    @property
    def warnings(self) -> int:
        """Number of findings that do not prevent an upload, in the sheet and its child sheets."""
        return sum(sheet.warnings for sheet in self._sheet.with_children)

    @cached_property
    def children(self) -> Mapping[str, "Report"]:
        """Reports of the child sheets by the names of their lists, such as ``produtos``."""
        lists = {} if self._frame is None else self._frame.lists
        return {
            name: Report(child, lists.get(child.sheet, self._origin))
            for name, child in self._sheet.children.items()
        }

    @property
    def changes(self) -> pd.DataFrame:
        """Changes that ``fix`` made: ``row``, ``cell``, ``column``, ``old`` and ``new`` as text."""
        fixed = [] if self._sheet.fixes is None else self._sheet.fixes.fixed
        rows = [(one.row, one.cell, one.column, one.value, str(one.corrected)) for one in fixed]
        return pd.DataFrame(rows, columns=["row", "cell", "column", "old", "new"])

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All rows, with the resource's columns in its order.

        Money is ``Decimal`` to the cent (dtype ``object``), dates are ``datetime64[us]`` without
        a time zone, codes and other text ``str``, whole numbers ``Int64``, other numbers
        ``Float64``, yes or no ``boolean``. Empty and invalid cells are missing (``None``, ``NaT``,
        ``NaN`` or ``NA``).
        """
        frame = self._sheet.frame.copy()
        for column in self._sheet.resource.columns if self._sheet.resource else ():
            if column.kind is Kind.MONEY and column.name in frame:
                # Validation has rounded what differs from cents by the noise of arithmetic only.
                values = [
                    None
                    if pd.isna(one)
                    else Decimal(f"{one:.2f}" if one == round(one, 2) else repr(one))
                    for one in frame[column.name].astype(object)
                ]
                frame[column.name] = pd.Series(values, index=frame.index, dtype=object)
        frame.index = self._frame_index()
        return frame

    @property
    def good(self) -> pd.DataFrame:
        """Rows of ``frame`` without errors, also in their lists; none if a layout has one."""
        return self.frame[~self._has_error]

    @property
    def bad(self) -> pd.DataFrame:
        """Rows of ``frame`` with errors, also in their lists; all if a layout has one."""
        return self.frame[self._has_error]

    @cached_property
    def findings(self) -> pd.DataFrame:
        """One row per finding of the sheet: first the layout's, then the cells' by row and column.

        Those of the child sheets are in ``children``.

        ``row`` (``Int64``; for a DataFrame, the labels of its index) is missing if the finding
        concerns the whole sheet. The other columns are text: ``cell``, an address such as ``C17``,
        in the sheet or the one that ``to_excel`` writes; ``column``; ``code``, one of
        ``docs/reference/findings.md``; ``severity``, ``error`` or ``warning``; ``value``, the
        content of the cell; ``message`` and ``hint``, in the language active on first access.
        """
        rows = [
            (
                finding.row,
                finding.cell,
                finding.column,
                finding.kind.code,
                finding.kind.severity.value,
                finding.value,
                str(finding.message),
                str(finding.hint),
            )
            for finding in self._sheet.findings
        ]
        columns = list(zip(*rows, strict=True)) or [()] * (1 + len(_TEXT_COLUMNS))
        texts = {
            name: pd.Series(values, dtype="str")
            for name, values in zip(_TEXT_COLUMNS, columns[1:], strict=True)
        }
        return pd.DataFrame({"row": self.row_labels(columns[0])} | texts)

    def to_excel(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write a copy of the workbook with marked cells and a sheet that lists the findings.

        A DataFrame is written as a workbook first. Raises ``UsageError`` if ``path`` is the
        workbook itself, cannot be written, or exists and is not such a copy (``force`` replaces
        it); ``WorkbookRefused`` if the workbook cannot be copied. Format:
        ``docs/how-to/analyst.md``.
        """
        from xlbridge.validation import report, report_formats

        target = Path(path)
        require_distinct([target], [] if self._origin else [self._sheet.file])
        if not force:
            WorkbookMark.ANNOTATED.require_mark(target)
        with as_file(self._origin or self._sheet.file) as file:
            sheets = [replace(each, file=file) for each in self._sheet.with_children]
            report_formats.report_forms(report.Report(sheets)).write("workbook", target)

    def __repr__(self) -> str:
        rows = f"{self.resource}, {len(self._sheet.rows)} rows"
        return (
            f"<Report {self._sheet.file.name}: {rows}, {self.errors} errors, "
            f"{self.warnings} warnings>"
        )

    def _repr_html_(self) -> str:
        return html_of(self, self.findings)

    @property
    def origin(self) -> Path | Origin:
        """The workbook: its path, or what can be written to a file."""
        return self._origin or self._sheet.file

    def may_be_sent(self, *, good_rows: bool) -> bool:
        """Return whether an upload may send the sheet, or its rows without errors."""
        return may_be_sent(self._sheet, good_rows=good_rows)

    def validated_sheet(self, folder: Path) -> ValidatedSheet:
        """Return the validated sheet; a workbook that is no file is stored in ``folder``.

        Raises ``UsageError`` if it cannot be written.
        """
        if self._origin is None:
            return self._sheet
        return replace(self._sheet, file=store(self._origin, folder))

    def with_sheet(self, sheet: ValidatedSheet) -> "Report":
        """Return a report of the same source for a sheet with further findings."""
        return Report(sheet, self._origin)

    def row_labels(self, rows: Sequence[int | None]) -> pd.Series:
        """Return the index labels of the report's frames for Excel's row numbers."""
        if self._frame is None:
            return pd.Series(rows, dtype="Int64")
        labels = pd.Series([self._frame.label(row) for row in rows], dtype=object)
        is_number = pd.api.types.is_integer_dtype(self._frame_index().dtype)
        return labels.astype("Int64") if is_number else labels

    @cached_property
    def _has_error(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        sheet = self._sheet
        if not all(part.readable for part in sheet.with_children):
            return np.ones(len(sheet.rows), dtype=bool)
        wrong = sheet.rows_in_error()
        for child in sheet.children.values():
            positions = sheet.parent_positions(child)[child.rows_in_error()]
            wrong[positions[positions >= 0]] = True
        return wrong

    def _frame_index(self) -> "pd.Index[Any]":
        if self._frame is not None:
            return self._frame.labels(self._sheet.rows)
        return pd.Index(list(self._sheet.rows), dtype="int64", name="row")


def validate(
    source: Source,
    resource: "ResourceChoice | None" = None,
    *,
    sheet: str | None = None,
    dates: DateOrder | None = None,
    numbers: NumberStyle | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    schemas: str | PathLike[str] | None = None,
    map: str | PathLike[str] | None = None,  # noqa: A002 - the name of the option
    links: Mapping[str, str] | None = None,
    accept: Sequence[str] = (),
) -> Report:
    """Validate a sheet against the schema of its resource, without the network.

    ``source`` is the path of an .xlsx, .xlsm, .xlsb, .xls, .ods or .csv file, its bytes, an open
    binary file, or a DataFrame with the sheet's column names (its index is ignored; a value that
    Excel cannot hold is validated as text). Tables of other libraries with the Arrow or the
    DataFrame interface count as DataFrames. A dict of frames is a sheet with lists: first the
    sheet, then a frame for each list by its name, such as ``produtos``.
    ``resource`` names the resource (see ``available_resources``), or is a pandera schema or model,
    which takes the place of all custom schema files; by default it is recognised by the template,
    the sheet's name or the headers. ``sheet`` names the sheet of a workbook with several.

    ``dates`` is the order of day and month in text dates, ``"dmy"`` or ``"mdy"``; ``numbers`` is
    ``"pt"`` for texts such as 1.234,56, ``"en"`` for 1,234.56; by default both are detected for
    each column. ``delimiter`` (such as ``";"``) and ``encoding`` (``"utf-8"``, ``"cp1252"``,
    ``"utf-16"``, ``"cp850"``) declare the form of a .csv file, by default detected from its
    content. ``schemas`` is a folder of custom schema files that replaces the one in
    ``XLBRIDGE_HOME``. ``map`` is a mapping file, as ``xlbridge map`` proposes it, for a sheet with
    headers of its own; it names the resource, and findings refer to the sheet's own cells.
    ``links`` are columns that contain names instead of codes, ``{"codigoDoCliente": "cliente"}``
    (or a column of the registry, ``"cnpj"``): ``Connection.plan`` and ``upload`` look them up.
    ``accept`` are findings that are right as they are, each ``"CODE"`` or ``"CODE:COLUMN"``; those
    that commands or the page remember for the header are accepted, too, unless it has ``"none"``.

    Wrong data is returned in the report, never raised. Raises ``UsageError`` if the file, sheet or
    resource does not exist, the resource is not recognised, or the mapping is wrong or made for
    another header; ``WorkbookRefused`` if the file cannot be read safely; ``SchemaFileError`` for a
    wrong schema file, or a pandera schema with more than such a file can say; ``ConfigError`` for
    invalid settings.

    Source of the rules: the spec's section of each resource, named in ``schemas/``.
    """
    origin = read_source(source)
    require_type("map", map, str, PathLike, NoneType, hint=_EXPECTED_MAPPING)
    settings = read_settings()
    reading = ParseOptions(dates=dates, numbers=numbers)
    mapping = None if map is None else read_mapping(Path(map))
    with named_resource(resource, schemas) as (name, folder):
        request = ValidationRequest(
            file=Path(origin.name),
            resource=name,
            sheet=sheet,
            reading=reading,
            mapping=mapping,
            links=links or {},
            accepted=AcceptedFindings.of(accept, settings.accepted),
        )
        if isinstance(origin, FrameWorkbook):
            if sheet is not None:
                raise UsageError(
                    Text(pt="Um DataFrame não tem planilhas.", en="A DataFrame has no sheets.")
                )
            return _validate_frame(origin, request, folder)
        limits = csv_limits(settings, delimiter, encoding)
        with as_file(origin) as file:
            validated = validate_single_sheet(replace(request, file=file), folder, limits)
    if isinstance(origin, Path):
        return Report(validated)
    return Report(replace(validated, file=Path(origin.name)), origin)


@contextmanager
def named_resource(
    resource: "ResourceChoice | None", schemas: str | PathLike[str] | None
) -> Iterator[tuple[str | None, Path]]:
    """Yield a resource's name and the folder of custom schema files; a pandera schema is in one of
    its own for the block.

    Raises what ``schema_file`` raises.
    """
    folder = read_settings().schemas if schemas is None else existing_folder(schemas)
    if resource is None or isinstance(resource, str):
        yield resource, folder
        return
    hint = EXPECTED_NAME.format(name="contasreceber")
    with schema_file("resource", resource, hint) as path:
        resources = load_catalogue(path.parent).values()
        yield next(one.name for one in resources if one.source == path), path.parent


@contextmanager
def schema_file(parameter: str, schema: "PanderaSchema", hint: Text) -> Iterator[Path]:
    """Yield a pandera schema as the only file of a folder, which is there for the block.

    Raises ``SchemaFileError`` if a file cannot hold all of it, ``UsageError`` if the ``parameter``
    is no schema.
    """
    # Imported late: it is heavy, and here already.
    import pandera.pandas as pa

    if isinstance(schema, type) and issubclass(schema, pa.DataFrameModel):
        schema = schema.to_schema()
    require_type(parameter, schema, pa.DataFrameSchema, hint=hint)
    parts = (schema, *schema.columns.values())
    lost = [check.name for one in parts for check in one.checks if check.registry_name is None]
    lost += [parser.name for one in parts for parser in one.parsers]
    if lost:
        raise SchemaFileError(
            _NOT_IN_A_FILE.format(names=", ".join(str(one) for one in lost)), _AS_A_PLUGIN
        )
    with TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as place:
        path = Path(place, "schema.yaml")
        schema.to_yaml(path)
        yield path


_NOT_IN_A_FILE = Text(
    pt="O esquema do pandera tem o que um arquivo de esquema não guarda: {names}.",
    en="The pandera schema has what a schema file cannot hold: {names}.",
)
_AS_A_PLUGIN = Text(
    pt="Registre as verificações em um plugin (docs/how-to/integrations/pandera.md) e faça as "
    "conversões antes, no DataFrame.",
    en="Register checks in a plugin (docs/how-to/integrations/pandera.md), and convert the "
    "DataFrame beforehand.",
)


def csv_limits(settings: Settings, delimiter: str | None, encoding: str | None) -> WorkbookLimits:
    """Return the limits for reading files, with the declared form of a .csv file."""
    require_choice("delimiter", delimiter, (None, *CSV_DELIMITERS.values()))
    require_choice("encoding", encoding, (None, *CSV_ENCODINGS))
    return settings.limits.with_csv(CsvForm(delimiter, encoding))


def require_type(name: str, value: object, *types: type, hint: Text) -> None:
    """Raise ``UsageError`` if an argument has the wrong type."""
    if not isinstance(value, types):
        message = Text(
            pt="{name} não pode ser do tipo {type}.", en="{name} cannot be of type {type}."
        )
        raise UsageError(message.format(name=name, type=type(value).__name__), hint)


EXPECTED_NAME = Text(
    pt="Passe o nome, um texto como {name!r}.", en="Pass the name, a string such as {name!r}."
)
_EXPECTED_MAPPING = Text(
    pt="Passe o caminho do arquivo que xlbridge map propõe.",
    en="Pass the path of the file that xlbridge map proposes.",
)


def existing_folder(schemas: str | PathLike[str]) -> Path:
    """Return a folder of custom schema files. Raises ``UsageError`` if it does not exist."""
    folder = Path(schemas)
    require_folder(folder)
    return folder


def _validate_frame(origin: FrameWorkbook, request: ValidationRequest, schemas: Path) -> Report:
    catalogue = load_catalogue(schemas)
    found = validate_sheets(request, catalogue, WorkbookLimits(), origin.cells).sheets
    sheet = next((one for one in found if one.sheet == origin.sheet), found[0])
    known = sheet.resource.headers if sheet.resource else {}
    index_columns = [known.get(normalize_header(str(name))) for name in origin.index_names]
    findings = [
        Finding(CATALOGUE["column-in-index"], column=name, details={"column": name})
        for name in index_columns
        if name is not None and name not in sheet.columns
    ]
    return Report(replace(sheet, findings=[*findings, *sheet.findings]), origin)


def available_resources(schemas: str | PathLike[str] | None = None) -> Mapping[str, Resource]:
    """Return the resources that can be imported, by name: shipped ones first, then custom ones.

    Each has a ``title``, ``columns`` (name, kind, whether required, checks), ``required`` columns
    and ``modes``. ``schemas`` is a folder of custom schema files that replaces the one in
    ``XLBRIDGE_HOME``. Raises ``SchemaFileError`` if one of them is wrong, ``UsageError`` if the
    folder does not exist.
    """
    return load_catalogue(read_settings().schemas if schemas is None else existing_folder(schemas))


def available_listings() -> Mapping[str, Listing]:
    """Return the listings that can be exported, by name.

    Each has a ``title``, ``sheets`` with their columns, and ``filters``, some of them ``required``.
    """
    return LISTINGS


_NO_WORKBOOK_NAME = Text(
    pt="{path}: o nome precisa terminar em .xlsx.", en="{path}: the name must end in .xlsx."
)


@dataclass(frozen=True, slots=True)
class MappingDraft:
    """A proposed mapping of a sheet with headers of its own; a person has to check it.

    ``columns`` is a DataFrame with ``column`` (of the resource), ``source`` (headers of the sheet),
    ``confidence`` (``high``, ``medium`` or ``low``), ``reason``, and ``complete``, false if the
    mapping file has a ``?`` to replace. ``text`` is the mapping file.
    """

    resource: str
    sheet: str
    columns: pd.DataFrame = field(repr=False)
    text: str = field(repr=False)

    def _repr_html_(self) -> str:
        return html_of(self, self.columns)

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the mapping file, for ``validate(…, map=path)``.

        Raises ``UsageError`` if it cannot be written, or exists (``force`` replaces it).
        """
        target = Path(path)
        if not force:
            require_new(target)
        with replace_atomically(target, shared=True) as unfinished:
            unfinished.write_text(self.text, encoding="utf-8")


def map(  # noqa: A001 - the name of the command
    source: Source,
    resource: "ResourceChoice | None" = None,
    *,
    sheet: str | None = None,
    numbers: NumberStyle | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    schemas: str | PathLike[str] | None = None,
) -> MappingDraft:
    """Propose which column of a sheet with other headers is which, as ``xlbridge map`` does.

    The parameters are those of ``validate``. Mappings used before are considered. Raises
    ``UsageError`` if there is no such file, sheet or resource, no header row with rows below it, or
    the resource is unclear; ``WorkbookRefused`` if the file cannot be read safely. Format:
    ``docs/mapping.md``.
    """
    # Imported here, as validation needs none of it.
    from xlbridge.validation.mapping import mapping_text, propose_mapping, remembered_mappings

    settings = read_settings()
    own = settings_for(settings, choose_profile(settings))
    with named_resource(resource, schemas) as (name, folder), as_file(read_source(source)) as file:
        proposal = propose_mapping(
            file,
            load_catalogue(folder),
            csv_limits(settings, delimiter, encoding),
            resource=name,
            sheet=sheet,
            earlier=remembered_mappings(own.mappings),
            numbers=numbers,
        )
    rows = [
        (name, list(one.sources), one.confidence.value, str(one.reason), not one.is_incomplete)
        for name, one in proposal.all_columns.items()
    ]
    names = ["column", "source", "confidence", "reason", "complete"]
    columns = pd.DataFrame(rows, columns=names)
    return MappingDraft(proposal.resource.name, proposal.sheet, columns, mapping_text(proposal))


def template(
    resource: "ResourceChoice",
    path: str | PathLike[str],
    *,
    headers: Headers = "titles",
    schemas: str | PathLike[str] | None = None,
    force: bool = False,
) -> None:
    """Write the blank import workbook of a resource, as ``xlbridge template`` does.

    ``headers`` are titles for people or the interface's names. Raises ``UsageError`` if there is no
    such resource, or the file cannot be written or exists (``force`` replaces it).
    """
    # Imported here, as only templates need what writes workbooks.
    from xlbridge.workbook.write import write_template

    target = Path(path)
    with named_resource(resource, schemas) as (name, folder):
        chosen = load_catalogue(folder).named(str(name))
    if target.suffix.lower() != ".xlsx":
        raise UsageError(_NO_WORKBOOK_NAME.format(path=target))
    if not force:
        require_new(target)
    write_template(target, chosen, headers=headers)


def fix(
    source: Source,
    path: str | PathLike[str],
    resource: "ResourceChoice | None" = None,
    *,
    sheet: str | None = None,
    dates: DateOrder | None = None,
    numbers: NumberStyle | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    schemas: str | PathLike[str] | None = None,
    force: bool = False,
) -> Report:
    """Write a copy of a workbook in which everything certain is corrected, and validate it.

    The same as ``xlbridge validate --fix``. The report is about the copy, and ready for
    ``Connection.upload``; its ``changes`` are the corrections. Nothing is written for a workbook
    without rows of a resource. The parameters are those of ``validate``, and so are the errors;
    ``UsageError`` also if the copy cannot be written or exists (``force`` replaces it).
    """
    origin, target, settings = read_source(source), Path(path), read_settings()
    if target.suffix.lower() != ".xlsx":
        raise UsageError(_NO_WORKBOOK_NAME.format(path=target))
    require_distinct([target], [origin] if isinstance(origin, Path) else [])
    if not force:
        require_new(target)
    limits = csv_limits(settings, delimiter, encoding)
    with named_resource(resource, schemas) as (name, folder), as_file(origin) as file:
        reading = ParseOptions(dates=dates, numbers=numbers)
        request = ValidationRequest(file=file, resource=name, sheet=sheet, reading=reading)
        found = validate_single_sheet(request, folder, limits)
        (fixed,) = fix_workbook([found], request, target, load_catalogue(folder), limits)
    return Report(replace(fixed, file=target) if isinstance(fixed, ValidatedSheet) else found)
