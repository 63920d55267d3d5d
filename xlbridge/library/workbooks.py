"""Files for people: templates, proposed mappings and fixed copies."""

from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from xlbridge.errors import UsageError
from xlbridge.files import replace_atomically, require_distinct, require_new
from xlbridge.i18n import Text
from xlbridge.library.reports import Report, csv_limits, html_of, named_resource
from xlbridge.library.sources import Source, as_file, read_source
from xlbridge.parallel import validate_single_sheet
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.resources import load_catalogue
from xlbridge.settings import DateOrder, Headers, NumberStyle, ParseOptions, read_settings
from xlbridge.validation import ValidatedSheet, ValidationRequest, fix_workbook
from xlbridge.validation.mapping import mapping_text, propose_mapping, remembered_mappings
from xlbridge.workbook.write import write_template

if TYPE_CHECKING:
    from xlbridge.library.reports import ResourceChoice

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
