"""Search for the header of a mapping in a workbook; and used mappings, remembered for each profile
by resource and header.

A mapping file is remembered unchanged after a sheet was read with it. Later proposals use it, and
it is offered for sheets with the same header.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.files import as_arguments, write_private
from xlbridge.i18n import Text
from xlbridge.validation.cells.text import list_sheet_names, quote_some
from xlbridge.validation.headers.header_matching import header_key
from xlbridge.validation.headers.header_row import (
    REMARK_HEADERS,
    SEARCHED_ROWS,
    best_row,
    header_texts,
)
from xlbridge.validation.mapping.mapping_file import SheetMapping, read_mapping
from xlbridge.workbook.read import SheetCells, WorkbookCells

_MAX_NAMES = 8


@dataclass(frozen=True)
class HeaderCandidate:
    """A row of a sheet that may be the header of a mapping.

    ``position`` is zero for Excel's row 1.
    """

    cells: SheetCells
    position: int
    texts: Sequence[str]

    @cached_property
    def columns(self) -> Mapping[str, int]:
        """Index of the column of each unique header, by its key."""
        keys = list(map(header_key, self.texts))
        counts = Counter(keys)
        return {key: index for index, key in enumerate(keys) if key and counts[key] == 1}

    def index(self, header: str) -> int:
        """Return the index of the column of a unique header."""
        return self.columns[header_key(header)]

    def changes(self, header: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the missing and the new headers."""
        wanted = Counter(map(header_key, header))
        present = Counter(key for text in self.texts if (key := header_key(text)))
        missing = _with_keys(header, wanted - present)
        new = _with_keys(self.texts, present - wanted)
        # Earlier versions did not propose columns of these names; their mappings stay valid.
        return missing, [text for text in new if header_key(text) not in REMARK_HEADERS]


def find_header(
    path: Path, mapping: SheetMapping, workbook: WorkbookCells, sheet: str | None
) -> HeaderCandidate:
    """Return the row with the header of a mapping; the order of columns may differ.

    Raises ``UsageError`` if more than one sheet has that header and data, no sheet has a similar
    one, or the header has changed.
    """
    wanted = Counter(map(header_key, mapping.header))

    def count_known(cells: SheetCells, position: int) -> int:
        return (wanted & Counter(map(header_key, header_texts(cells, position)))).total()

    # The first row of each sheet with the most headers of the mapping.
    best = [
        HeaderCandidate(cells, position, header_texts(cells, position))
        for cells in workbook.sheets
        if (position := best_row(cells, partial(count_known, cells))) is not None
    ]
    same = [row for row in best if not any(row.changes(mapping.header))]
    filled = [row for row in same if row.cells.has_data(row.position + 1)]
    if len(filled) > 1 and sheet is None:
        raise UsageError(
            Text(
                pt="Mais de uma planilha tem o cabeçalho do mapeamento: {sheets}.",
                en="More than one sheet has the header of the mapping: {sheets}.",
            ).format(sheets=list_sheet_names([row.cells.name for row in filled])),
            Text(pt="Informe qual com --sheet.", en="Choose one with --sheet."),
        )
    if same:
        return (filled or same)[0]
    if not best:
        raise UsageError(
            Text(
                pt="Nenhuma planilha visível tem o cabeçalho do mapeamento {mapping}: {names}.",
                en="No visible sheet has the header of the mapping {mapping}: {names}.",
            ).format(mapping=mapping.path, names=quote_some(mapping.header, _MAX_NAMES)),
            Text(
                pt="Confira se o mapeamento é o desta planilha, ou proponha outro: "
                "xlbridge map {file}",
                en="Check that the mapping is for this sheet, or propose another: "
                "xlbridge map {file}",
            ).format(file=as_arguments(path)),
        )
    raise _changed(path, mapping, min(best, key=lambda row: len(row.changes(mapping.header)[0])))


def _with_keys(texts: Iterable[str], keys: Counter[str]) -> list[str]:
    """Return the texts with the given keys, each as often as its key."""
    left, found = Counter(keys), []
    for text in texts:
        if left[header_key(text)] > 0:
            left[header_key(text)] -= 1
            found.append(text)
    return found


def _changed(path: Path, mapping: SheetMapping, row: HeaderCandidate) -> UsageError:
    gone, new = (quote_some(texts, _MAX_NAMES) for texts in row.changes(mapping.header))
    gone_text = Text(pt=" Faltam: {names}.", en=" Missing: {names}.").format(names=gone)
    new_text = Text(pt=" São novas: {names}.", en=" New: {names}.").format(names=new)
    return UsageError(
        Text(
            pt="O cabeçalho (planilha {sheet}, linha {row}) não é mais o do mapeamento "
            "{mapping}.{gone}{new}",
            en="The header (sheet {sheet}, row {row}) is no longer that of the mapping "
            "{mapping}.{gone}{new}",
        ).format(
            sheet=row.cells.name,
            row=row.position + 1,
            mapping=mapping.path,
            gone=gone_text if gone else "",
            new=new_text if new else "",
        ),
        Text(
            pt="Corrija header e columns de {mapping}, ou proponha outro mapeamento: "
            "xlbridge map {file}",
            en="Correct header and columns of {mapping}, or propose another mapping: "
            "xlbridge map {file}",
        ).format(mapping=mapping.path, file=as_arguments(path)),
    )


def remember_mapping(folder: Path, mapping: SheetMapping) -> Path:
    """Copy a used mapping file to ``folder``, replacing one for the same header; return the copy.

    Raises ``UsageError`` if it cannot be written.
    """
    keys = sorted(map(header_key, mapping.header))
    digest = hashlib.blake2b("\0".join(keys).encode(), digest_size=6).hexdigest()
    copy = folder / f"{mapping.resource}-{digest}.yaml"
    if copy != mapping.path:
        write_private(copy, mapping.path.read_text(encoding="utf-8-sig"))
    return copy


def remembered_mappings(folder: Path) -> list[SheetMapping]:
    """Return the remembered mappings, the latest last, without invalid files."""
    found = []
    for path in sorted(folder.glob("*.yaml"), key=lambda path: (path.stat().st_mtime, path.name)):
        with suppress(UsageError):
            found.append(read_mapping(path))
    return found


def mapping_for(
    workbook: WorkbookCells, mappings: Sequence[SheetMapping], resource: str | None
) -> SheetMapping | None:
    """Return the latest mapping whose header is in a sheet of a workbook."""
    headers = [
        Counter(key for text in header_texts(cells, position) if (key := header_key(text)))
        for cells in workbook.sheets
        for position in range(min(cells.height, SEARCHED_ROWS))
    ]
    fitting = (
        mapping
        for mapping in reversed(mappings)
        if resource in (None, mapping.resource)
        and Counter(map(header_key, mapping.header)) in headers
    )
    return next(fitting, None)
