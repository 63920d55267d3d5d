"""The header of a mapped sheet: found again by its words, whatever their order, or told apart; and
mappings that a person used, kept for each profile by resource and header.

A mapping is kept when a sheet was read by it, whole as the person wrote it. The next proposal goes
by what is kept, and a sheet with the same header is offered the same mapping.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.files import as_argument, write_private
from xlbridge.i18n import Text, untranslated
from xlbridge.validation.cells.text import display, list_sheet_names, quoted
from xlbridge.validation.headers.header_matching import header_key
from xlbridge.validation.headers.header_row import REMARK_HEADERS, SEARCHED_ROWS
from xlbridge.validation.mapping.mapping_file import SheetMapping, read_mapping
from xlbridge.workbook.read import SheetCells, WorkbookCells

_MOST_NAMED = 8


@dataclass(frozen=True)
class HeaderPlaces:
    """A row of a sheet that may be the header of a mapping.

    ``position`` is zero for Excel's row 1; ``known`` counts the wanted headers among its texts.
    """

    cells: SheetCells
    position: int
    texts: Sequence[str]
    known: int

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place among the sheet's columns of each header that is there once, by its key."""
        keys = list(map(header_key, self.texts))
        counted = Counter(keys)
        return {key: place for place, key in enumerate(keys) if key and counted[key] == 1}

    def changes(self, header: Sequence[str]) -> tuple[list[str], list[str]] | None:
        """Return the headers that are gone and those that are new, None where all are there."""
        wanted = Counter(map(header_key, header))
        there = Counter(key for text in self.texts if (key := header_key(text)))
        gone = _named(header, wanted - there)
        new = _named(self.texts, there - wanted)
        new = [text for text in new if header_key(text) not in REMARK_HEADERS]
        return (gone, new) if gone or new else None


def header_texts(cells: SheetCells, position: int) -> list[str]:
    """Return the texts of a header row, empty where a cell is."""
    return [display(value).strip() for value in cells.row(position)]


def find_header(
    path: Path, mapping: SheetMapping, workbook: WorkbookCells, sheet: str | None
) -> HeaderPlaces:
    """Return where the header of a mapping stands.

    The columns may stand in another order. Raises ``UsageError`` where the workbook has no visible
    sheet, more than one sheet with that header and data, or where the header has changed.
    """
    wanted = Counter(map(header_key, mapping.header))
    best = [_best_row(cells, wanted) for cells in workbook.sheets]
    same = [row for row in best if row is not None and not row.changes(mapping.header)]
    filled = [row for row in same if row.cells.has_data(row.position + 1)]
    if len(filled) > 1 and sheet is None:
        raise UsageError(
            Text(
                pt="Mais de uma planilha tem o cabeçalho do mapeamento: {sheets}.",
                en="More than one sheet has the header of the mapping: {sheets}.",
            ).format(sheets=list_sheet_names([row.cells.name for row in filled])),
            Text(pt="Diga qual com --sheet.", en="Say which with --sheet."),
        )
    if same:
        return (filled or same)[0]
    nearest = max((row for row in best if row), key=lambda row: row.known, default=None)
    if nearest is None or not nearest.known:
        raise UsageError(
            Text(
                pt="Nenhuma planilha visível tem o cabeçalho do mapeamento {mapping}: {names}.",
                en="No visible sheet has the header of the mapping {mapping}: {names}.",
            ).format(mapping=mapping.path, names=_listed(mapping.header)),
            Text(
                pt="Confira se o mapeamento é o desta planilha, ou proponha outro: "
                "xlbridge map {file}",
                en="Check that the mapping is for this sheet, or propose another: "
                "xlbridge map {file}",
            ).format(file=as_argument(path)),
        )
    raise _changed(path, mapping, nearest)


def _named(texts: Iterable[str], keys: Counter[str]) -> list[str]:
    """Return the texts with some keys, each as often as its key."""
    left, named = Counter(keys), []
    for text in texts:
        if left[header_key(text)] > 0:
            left[header_key(text)] -= 1
            named.append(text)
    return named


def _best_row(cells: SheetCells, wanted: Counter[str]) -> HeaderPlaces | None:
    """Return the first of the rows with the most of the wanted headers."""
    best: HeaderPlaces | None = None
    for position in range(min(cells.height, SEARCHED_ROWS)):
        texts = header_texts(cells, position)
        known = (wanted & Counter(map(header_key, texts))).total()
        if best is None or known > best.known:
            best = HeaderPlaces(cells, position, texts, known)
    return best


def _listed(headers: Sequence[str]) -> str:
    named = ", ".join(quoted(header) for header in headers[:_MOST_NAMED])
    return named + (" …" if len(headers) > _MOST_NAMED else "")


def _changed(path: Path, mapping: SheetMapping, row: HeaderPlaces) -> UsageError:
    gone, new = row.changes(mapping.header) or ([], [])
    gone_text = Text(pt=" Faltam: {names}.", en=" Missing: {names}.").format(names=_listed(gone))
    new_text = Text(pt=" São novas: {names}.", en=" New: {names}.").format(names=_listed(new))
    nothing = untranslated("")
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
            gone=gone_text if gone else nothing,
            new=new_text if new else nothing,
        ),
        Text(
            pt="Corrija header e columns de {mapping}, ou proponha outro mapeamento: "
            "xlbridge map {file}",
            en="Correct header and columns of {mapping}, or propose another mapping: "
            "xlbridge map {file}",
        ).format(mapping=mapping.path, file=as_argument(path)),
    )


def remember_mapping(folder: Path, mapping: SheetMapping) -> Path:
    """Keep a mapping that a sheet was read by, in place of one for the same header.

    Return the kept file. Raises ``UsageError`` when it cannot be written.
    """
    keys = sorted(map(header_key, mapping.header))
    digest = hashlib.blake2b("\0".join(keys).encode(), digest_size=6).hexdigest()
    kept = folder / f"{mapping.resource}-{digest}.yaml"
    if kept != mapping.path:
        write_private(kept, mapping.path.read_text(encoding="utf-8-sig"))
    return kept


def remembered_mappings(folder: Path) -> list[SheetMapping]:
    """Return the mappings that are kept, the latest last; files that are mistaken are left out."""
    found = []
    for path in sorted(folder.glob("*.yaml"), key=lambda path: (path.stat().st_mtime, path.name)):
        try:
            found.append(read_mapping(path))
        except UsageError:
            continue
    return found


def mapping_for(
    workbook: WorkbookCells, mappings: Sequence[SheetMapping], resource: str | None
) -> SheetMapping | None:
    """Return the latest mapping whose header stands in a sheet of a workbook."""
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
