"""Lists of a template: records of the system's registries, which dropdowns offer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from xlbridge.i18n import Text, untranslated
from xlbridge.workbook import style
from xlbridge.workbook.address import column_letters
from xlbridge.workbook.signature import REGISTRIES_SHEET, REGISTRIES_TITLE
from xlbridge.workbook.write.new_workbook import print_across_pages

_CHOICE_HEADER = Text(pt="código – nome", en="code – name")
_SIZE = untranslated("{title}: {n}")
_TRUNCATED = Text(
    pt="{title}: {n}; aqui {listed}, os outros por código ou nome",
    en="{title}: {n}; {listed} are here, the others by code or name",
)
_FIRST_ROW = 4  # Excel's number: above are a title, the registries' titles and the headers
_MAX_CHOICE_LENGTH = 255  # Excel's limit
_LIST_WIDTHS = (44, 20)
_GAP_WIDTH = 3


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """Record of a registry: its code, its label, and its other ``names``."""

    code: str
    label: str
    names: tuple[str, ...] = ()

    @property
    def choice(self) -> str:
        """Choice of a dropdown: ``code – label``, or the code alone if that is not possible."""
        text = f"{self.code} – {self.label}"
        plain = self.label and text.isprintable() and len(text) <= _MAX_CHOICE_LENGTH
        return text if plain else self.code


@dataclass(frozen=True, slots=True)
class RegistryList:
    """Records of a registry that a template offers, out of ``total``.

    ``headers`` are the headers of their other names.
    """

    registry: str
    title: str
    headers: tuple[str, ...]
    records: tuple[ListedRecord, ...]
    total: int

    @property
    def is_truncated(self) -> bool:
        """True if the registry has more records than the template offers."""
        return len(self.records) < self.total


@dataclass(frozen=True, slots=True)
class RegistryLists:
    """Lists of a template, and their source: the system and the time of reading.

    ``system`` identifies the remote system, which the workbook carries.
    """

    source: str
    lists: tuple[RegistryList, ...] = ()
    system: str = ""

    def ranges(self) -> Mapping[str, str]:
        """Return the range of choices of each registry's dropdown."""
        return {
            registry.registry: f"{REGISTRIES_SHEET}!${letters}${_FIRST_ROW}:"
            f"${letters}${_FIRST_ROW + len(registry.records) - 1}"
            for registry, column in self.with_columns()
            if registry.records
            for letters in [column_letters(column)]
        }

    def with_columns(self) -> Iterator[tuple[RegistryList, int]]:
        """Yield each list with its first zero-based column."""
        column = 0
        for registry in self.lists:
            yield registry, column
            column += len(registry.headers) + 2


NO_LISTS = RegistryLists("")
"""Lists of a template for any system."""


def add_registries_sheet(book: xlsxwriter.Workbook, lists: RegistryLists) -> None:
    """Add the sheet of the registries' lists, if there are any."""
    if not lists.lists:
        return
    sheet: Worksheet = book.add_worksheet(str(REGISTRIES_SHEET))
    title = book.add_format({"bold": True, "font_size": 13, "font_color": style.STRONG})
    quiet = book.add_format({"font_color": style.QUIET})
    header = book.add_format({"bold": True, "bg_color": style.SOFT, "font_color": style.STRONG})
    # Text format, so that edited codes do not become numbers or formulas.
    text = book.add_format({"num_format": "@"})
    cells = {(0, 0): (f"{REGISTRIES_TITLE}{lists.source}", title)}
    for registry, column in lists.with_columns():
        gap = column + len(registry.headers) + 1
        sheet.set_column(column, column, _LIST_WIDTHS[0], text)
        sheet.set_column(column + 1, gap - 1, _LIST_WIDTHS[1], text)
        sheet.set_column(gap, gap, _GAP_WIDTH)
        counts = {"n": registry.total, "listed": len(registry.records)}
        size = _TRUNCATED if registry.is_truncated else _SIZE
        cells[1, column] = str(size.format(title=registry.title, **counts)), quiet
        for index, name in enumerate((str(_CHOICE_HEADER), *registry.headers), start=column):
            cells[2, index] = name, header
        for row, record in enumerate(registry.records, start=_FIRST_ROW - 1):
            for index, value in enumerate((record.choice, *record.names), start=column):
                cells[row, index] = value, text
    for position, (value, cell_format) in sorted(cells.items()):
        sheet.write_string(*position, value, cell_format)
    sheet.freeze_panes(_FIRST_ROW - 1, 0)
    sheet.set_tab_color(style.RULE)
    print_across_pages(sheet, str(REGISTRIES_SHEET))
    sheet.repeat_rows(0, _FIRST_ROW - 2)
