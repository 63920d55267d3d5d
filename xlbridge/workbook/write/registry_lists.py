"""Records of the system's registries in a template: a sheet to look them up in, and the ranges that
its dropdowns offer.

The workbook is written row by row, so the registries stand beside one another, each in columns of
its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.workbook import style
from xlbridge.workbook.address import column_letters
from xlbridge.workbook.signature import REGISTRIES_SHEET, REGISTRIES_TITLE
from xlbridge.workbook.write.new_workbook import print_across_pages

_OFFERED = "código – nome"
_FIRST_ROW = 4  # counted from 1: the records stand below a title, the registries' and the headers
_LONGEST_OFFER = 255  # what Excel takes from a list
_WIDTHS = (44, 20)
_GAP_WIDTH = 3


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """Record of a registry: its code, what it is called, and its other ``names``."""

    code: str
    label: str
    names: tuple[str, ...] = ()

    @property
    def offered(self) -> str:
        """What a dropdown offers: ``code – name``, or the code alone where Excel takes no more."""
        text = f"{self.code} – {self.label}"
        plain = self.label and text.isprintable() and len(text) <= _LONGEST_OFFER
        return text if plain else self.code


@dataclass(frozen=True, slots=True)
class RegistryList:
    """Records of a registry that a template offers, of ``total`` that may be used.

    ``headers`` say what their other names are.
    """

    registry: str
    title: str
    headers: tuple[str, ...]
    records: tuple[ListedRecord, ...]
    total: int

    @property
    def is_cut(self) -> bool:
        """True where the registry has more records than the template offers."""
        return len(self.records) < self.total


@dataclass(frozen=True, slots=True)
class RegistryLists:
    """The lists of a template, and from which system they were read, and when."""

    source: str
    lists: tuple[RegistryList, ...] = ()

    def ranges(self) -> Mapping[str, str]:
        """Return the cells that hold what each registry's dropdown offers."""
        return {
            one.registry: f"{REGISTRIES_SHEET}!${letters}${_FIRST_ROW}:"
            f"${letters}${_FIRST_ROW + len(one.records) - 1}"
            for one, place in self.places()
            if one.records
            for letters in [column_letters(place)]
        }

    def places(self) -> Iterator[tuple[RegistryList, int]]:
        """Yield each list with its first column, counted from 0."""
        place = 0
        for one in self.lists:
            yield one, place
            place += len(one.headers) + 2


NO_LISTS = RegistryLists("")
"""The lists of a template that is for any system."""


def add_registries_sheet(book: xlsxwriter.Workbook, lists: RegistryLists) -> None:
    """Add the sheet of the registries, if there are any."""
    if not lists.lists:
        return
    sheet: Worksheet = book.add_worksheet(REGISTRIES_SHEET)
    title = book.add_format({"bold": True, "font_size": 13, "font_color": style.STRONG})
    quiet = book.add_format({"font_color": style.QUIET})
    header = book.add_format({"bold": True, "bg_color": style.SOFT, "font_color": style.STRONG})
    # A text format, so that no program takes an edited code for a number or a formula.
    text = book.add_format({"num_format": "@"})
    for one, place in lists.places():
        sheet.set_column(place, place, _WIDTHS[0], text)
        sheet.set_column(place + 1, place + len(one.headers), _WIDTHS[1], text)
        gap = place + len(one.headers) + 1
        sheet.set_column(gap, gap, _GAP_WIDTH)
    sheet.write_string(0, 0, f"{REGISTRIES_TITLE}{lists.source}", title)
    for one, place in lists.places():
        sheet.write_string(1, place, _count(one), quiet)
    for one, place in lists.places():
        for index, name in enumerate((_OFFERED, *one.headers)):
            sheet.write_string(2, place + index, name, header)
    for row in range(max(len(one.records) for one in lists.lists)):
        _write_records(sheet, row, lists, text)
    sheet.freeze_panes(_FIRST_ROW - 1, 0)
    sheet.set_tab_color(style.RULE)
    print_across_pages(sheet, REGISTRIES_SHEET)


def _count(one: RegistryList) -> str:
    said = f"{one.title}: {one.total}"
    if not one.is_cut:
        return said
    return f"{said}; aqui {len(one.records)}, os outros por código ou nome"


def _write_records(sheet: Worksheet, row: int, lists: RegistryLists, text: Format) -> None:
    for one, place in lists.places():
        if row >= len(one.records):
            continue
        record = one.records[row]
        values: Sequence[str] = (record.offered, *record.names)
        for index, value in enumerate(values):
            sheet.write_string(_FIRST_ROW - 1 + row, place + index, value, text)
