"""Rows of a table in an analyst's workbook, replaced by others; what she added follows them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from xml.sax.saxutils import escape

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.report_forms import list_first
from xlbridge.workbook.address import (
    MAX_ROWS,
    CellPosition,
    cell_address,
    cell_position,
)
from xlbridge.workbook.edit.analyst_tables import AnalystTable, first_cells, overlap
from xlbridge.workbook.edit.editable_cells import CellXml, RowXml
from xlbridge.workbook.edit.editable_package import find_sheet_data
from xlbridge.workbook.edit.followers import (
    RowChange,
    filled_down,
    follow,
    moved_attributes,
    moved_formulas,
    parse_range,
)

_Key = tuple[str, ...]

_ROW_ATTRIBUTES = re.compile(rb"""\s(?:r|spans|hidden)=("[^"]*"|'[^']*')""")
_HIDDEN = re.compile(rb"""\shidden=["'](?:1|true)["']""")
_NUMBER = re.compile(rb"""(\sr=["'])\d+""")
_FORMULA_ELEMENT = re.compile(rb"<((?:[\w.-]+:)?f)\b[^>]*?(?:/>|>[^<]*</\1\s*>)")
_TAG_START = re.compile(rb"<(/?)")
_SHOWN = 5


class RefreshedTable(AnalystTable):
    """Table of an editable workbook whose rows are replaced."""

    def write(self, rows: Iterable[Mapping[int, bytes]]) -> bool:
        """Replace the rows, unless they have the same values; return whether it did.

        Each row maps columns to cells, with their addresses in the new row. Adds to ``losses`` what
        has no place among the new rows. Raises ``UsageError`` if something next to or below the
        table is in their way.
        """
        found = self.found
        new = list(rows) or [{}]
        if self._has_same_values(new):
            return False
        change = RowChange(
            sheet=found.sheet,
            first=found.first,
            last=found.last,
            new_last=found.first + len(new) - 1,
            left=found.left,
            right=found.right,
            moves=len(new) != len(self._old) and self._has_content_below(),
        )
        self._refuse_obstacles(change)
        old_rows = self._rows_of_records(new)
        typed = [self._old[number] if number else {} for number in old_rows]
        # Large tables: what is written is not held any longer.
        self._old = {number: {} for number in self._old}
        pieces: list[bytes] = []
        for number in sorted(self._sheet.rows):
            row = self._sheet.rows[number]
            if number < found.first:
                pieces.append(self._other(row, change))
        for index, row_cells in enumerate(new):
            pieces.append(
                self._row(change, found.first + index, row_cells, typed[index], old_rows[index])
            )
            new[index], typed[index] = {}, {}
        for number in sorted(self._sheet.rows):
            row = self._sheet.rows[number]
            if number > found.last and (change.moves or number > change.new_last):
                pieces.append(self._other(row, change))
            elif number > change.new_last and not change.moves:
                pieces.append(self._emptied(row, change))
        self._save(b"".join(pieces), change)
        return True

    def _has_same_values(self, new: Sequence[Mapping[int, bytes]]) -> bool:
        """Return whether the cells to fill have the values of the new rows already."""
        if len(new) != len(self._old):
            return False
        for old, row in zip(self._old.values(), new, strict=True):
            cells = _parsed(row.values())
            for column in self._filled:
                before, after = old.get(column), cells.get(column)
                if before is not None and before.formula:
                    return False
                # What stays empty needs no style.
                if after and after.is_filled and after.style != self._first_styles[column]:
                    return False
                if self._comparable(before) != self._comparable(after):
                    return False
        return True

    def _comparable(self, cell: CellXml | None) -> tuple[str, str]:
        """Return what tells whether two cells have the same value: its kind and text."""
        if cell is None or not cell.is_filled:
            return "", ""
        if cell.type == "n":
            return "n", _comparable(self._sheet.text(cell))
        kind = "s" if cell.type in {"s", "inlineStr", "str"} else cell.type
        return kind, self._sheet.text(cell)

    def _save(self, rows: bytes, change: RowChange) -> None:
        sheet, package, found = self._sheet, self._package, self.found
        tag = sheet.prefix + b"sheetData"
        start = sheet.start.removesuffix(b"/>").removesuffix(b">") + b">"
        head = moved_attributes(sheet.content[: sheet.begin], change)
        if last := _NUMBER_OF_ROW.match(rows, rows.rfind(b"<" + sheet.prefix + b"row ")):
            head = _DIMENSION.sub(lambda found: found[1] + last[1], head, count=1)
        tail = moved_attributes(sheet.content[sheet.after :], change)
        content = b"".join((head, start, rows, b"</", tag, b">", tail))
        before = self._formula_cells(sheet.content)
        package.write(found.part, content)
        follow(package, found.part, found.table, change)
        chain = package.related(package.workbook, "calcChain")
        if chain is not None and chain in package and before != self._formula_cells(content):
            package.remove(chain, package.workbook)
        if change.broken:
            self.losses.append(
                _BROKEN.format(
                    table=found.title,
                    formulas=list_first(list(dict.fromkeys(change.broken)), _SHOWN),
                )
            )

    def _formula_cells(self, content: bytes) -> set[CellPosition]:
        begin, end, _ = find_sheet_data(content)
        return {
            cell_position(address.decode())
            for address in _FORMULA_ADDRESS.findall(content, begin, end)
        }

    def _refuse_obstacles(self, change: RowChange) -> None:
        """Raise ``UsageError`` if the new rows do not fit into the sheet."""
        found = self.found
        rows = change.new_last - found.first + 1
        lowest = max((*self._sheet.rows, found.last))
        if max(change.new_last, change.moved(lowest)) > MAX_ROWS or change.new_last >= MAX_ROWS:
            raise UsageError(_TOO_MANY.format(table=found.title, n=rows))
        if not change.moves:
            return
        shared = {formula.range for _, formula in self._shared.values()}
        for text, (top, _, bottom, _) in self._fixed_ranges():
            if text not in shared and top <= found.last < bottom:
                raise UsageError(_CUT.format(table=found.title, range=text), _MAKE_ROOM)
        for number in range(change.new_last + 1, found.last + 1):
            for column, cell in self._sheet.cells(number).items():
                if not found.left <= column <= found.right and cell.is_filled:
                    place = cell_address(number, column)
                    raise UsageError(_BESIDE.format(table=found.title, cell=place), _MAKE_ROOM)

    def _rows_of_records(self, new: Sequence[Mapping[int, bytes]]) -> list[int | None]:
        """Return the old row of each new one that has the same record, None without one.

        Only columns that she typed need them; rows of one record are told apart by their order if
        their number is the same.
        """
        if not self._typed or not self._keys:
            return [None] * len(new)
        old_keys = {number: self._key(row) for number, row in self._old.items()}
        new_keys = [self._key(_parsed(row.values())) for row in new]
        numbers: defaultdict[_Key, list[int]] = defaultdict(list)
        for number, key in old_keys.items():
            numbers[key].append(number)
        counts = Counter(new_keys)
        kept = {key: iter(found) for key, found in numbers.items() if counts[key] == len(found)}
        rows = [next(kept[key]) if key in kept else None for key in new_keys]
        gone = [
            cell_address(number, column)
            for number in sorted(self._old.keys() - set(rows))
            for column in self._typed
            if (cell := self._old[number].get(column)) and cell.is_filled
        ]
        if gone:
            self.losses.append(_GONE.format(table=self.found.title, cells=first_cells(gone)))
        return rows

    def _key(self, row: Mapping[int, CellXml]) -> _Key:
        return tuple(_comparable(self._sheet.text(row[c])) if c in row else "" for c in self._keys)

    def _row(
        self,
        change: RowChange,
        number: int,
        new: Mapping[int, bytes],
        typed: Mapping[int, CellXml],
        typed_row: int | None,
    ) -> bytes:
        """Return a row of the table."""
        found, prefix = self.found, self._sheet.prefix
        stays = number <= change.last or not change.moves
        row = self._sheet.rows.get(number) if stays else None
        model = row or self._sheet.rows.get(found.first)
        attributes = b"" if model is None else _ROW_ATTRIBUTES.sub(b"", model.attributes)
        if row is not None and not self._is_filtered and _HIDDEN.search(row.attributes):
            attributes += b' hidden="1"'
        pieces = {
            cell.column: self._plain(number, number, cell, change)
            for cell in (self._cells_beside(row) if row is not None else ())
        }
        for column in range(found.left, found.right + 1):
            address = cell_address(number, column).encode()
            style = self._first_styles[column].encode()
            if column in new:
                cell_xml = new[column]
                pieces[column] = _TAG_START.sub(rb"<\1" + prefix, cell_xml) if prefix else cell_xml
            elif column in self._templates and new:
                start, formula = self._templates[column]
                text = change.formula(formula.text, own=True, rows=number - start)
                kind = b' t="array" ref="%s"' % address if formula.kind == "array" else b""
                pieces[column] = b'<%sc r="%s" s="%s"><%sf%s>%s</%sf></%sc>' % (
                    *(prefix, address, style, prefix, kind),
                    *(escape(text).encode(), prefix, prefix),
                )
            elif column in self._typed and column in typed and typed_row is not None:
                pieces[column] = self._plain(typed_row, number, typed[column], change)
            elif style != b"0" or column in self._filled:
                pieces[column] = b'<%sc r="%s" s="%s"/>' % (prefix, address, style)
        cells = b"".join(pieces[column] for column in sorted(pieces))
        return b'<%srow r="%d"%s>%s</%srow>' % (prefix, number, attributes, cells, prefix)

    def _cells_beside(self, row: RowXml) -> Sequence[CellXml]:
        """Return the cells of a row to the left and right of the table's columns."""
        if row.number in self._old:
            return sorted(self._beside.get(row.number, ()))
        left, right = self.found.left, self.found.right
        return [cell for cell in row.cells() if not left <= cell.column <= right]

    def _emptied(self, row: RowXml, change: RowChange) -> bytes:
        """Return a row that the table no longer reaches, with the cells next to it."""
        prefix = self._sheet.prefix
        cells = b"".join(
            self._plain(row.number, row.number, cell, change) for cell in self._cells_beside(row)
        )
        attributes = _ROW_ATTRIBUTES.sub(b"", row.attributes)
        if not cells:
            return b""
        return b'<%srow r="%d"%s>%s</%srow>' % (prefix, row.number, attributes, cells, prefix)

    def _other(self, row: RowXml, change: RowChange) -> bytes:
        """Return a row above or below the table, moved if it has to be."""
        if change.is_none and not (self._shared and b"shared" in row.xml):
            return row.xml
        number = change.moved(row.number)
        tag, content = row.xml, b""
        if (end := row.xml.find(b">")) >= 0:
            tag, content = row.xml[: end + 1], row.xml[end + 1 :]
        if number != row.number:
            tag = _NUMBER.sub(lambda found: found[1] + b"%d" % number, tag)
        for cell in row.cells():
            moved = self._plain(row.number, number, cell, change, is_moved=False)
            content = content.replace(cell.xml, moved, 1) if moved != cell.xml else content
        return tag + content

    def _plain(
        self,
        old: int,
        new: int,
        cell: CellXml,
        change: RowChange,
        *,
        is_moved: bool = True,
    ) -> bytes:
        """Return a cell of row ``old`` in row ``new``, with its formula after the change.

        A formula that other cells share becomes one of its own; with ``is_moved`` it is filled
        down to the new row.
        """
        formula = self._formula(old, cell)
        content = cell.at(new) if new != old else cell.xml
        if formula is None or (change.is_none and new == old and not self._touches_shared(cell)):
            return content
        text = change.formula(formula.text, own=True)
        if is_moved and new != old:
            text = filled_down(text, new - old)
        written = cell.formula
        if written is not None and written.kind in {"array", "dataTable"}:
            return moved_attributes(moved_formulas(content, change, own=True), change)
        if text == formula.text and written is not None and written.kind != "shared":
            return content
        prefix = self._sheet.prefix
        element = b"<%sf>%s</%sf>" % (prefix, escape(text).encode(), prefix)
        return _FORMULA_ELEMENT.sub(lambda _: element, content, count=1)

    def _touches_shared(self, cell: CellXml) -> bool:
        """Return whether a cell's formula is shared with cells of the table."""
        formula = cell.formula
        if formula is None or formula.kind != "shared" or formula.group not in self._shared:
            return False
        area = parse_range(self._shared[formula.group][1].range)
        found = self.found
        inside = found.first, found.left, found.last, found.right
        return area is not None and overlap(area, inside)


_FORMULA_ADDRESS = re.compile(
    rb"""<(?:[\w.-]+:)?c\b[^>]*?\br=["']([A-Z]+\d+)["'][^>]*>\s*<(?:[\w.-]+:)?f\b"""
)
_DIMENSION = re.compile(rb"""(<(?:[\w.-]+:)?dimension\b[^>]*?\bref=["'][A-Z]+\d+:[A-Z]+)\d+""")
_NUMBER_OF_ROW = re.compile(rb"""<(?:[\w.-]+:)?row\b[^>]*?\br=["'](\d+)["']""")


def _parsed(cells: Iterable[bytes]) -> dict[int, CellXml]:
    """Return new cells by column."""
    row = RowXml(0, b"", b"<row>" + b"".join(cells) + b"</row>", 0)
    return {cell.column: cell for cell in row.cells()}


def _comparable(text: str) -> str:
    """Return a key as it is compared: numbers by value."""
    try:
        return f"{Decimal(text).normalize():f}"
    except InvalidOperation:
        return text.strip().casefold()


_TOO_MANY = Text(
    pt="{table}: {n} {n:linha não cabe|linhas não cabem} na planilha.",
    en="{table}: {n} {n:row does|rows do} not fit the sheet.",
)
_CUT = Text(
    pt="{table}: {range} começa ao lado da tabela e termina abaixo dela; as linhas novas a "
    "partiriam ao meio.",
    en="{table}: {range} begins beside the table and ends below it; the new rows would cut it in "
    "two.",
)
_BESIDE = Text(
    pt="{table}: a tabela fica menor, e {cell}, ao lado dela, ficaria sem lugar.",
    en="{table}: the table gets smaller, and {cell}, beside it, would have no place.",
)
_MAKE_ROOM = Text(
    pt="Leve isso para outra planilha, ou para cima, e repita.",
    en="Move it to another sheet, or further up, and try again.",
)
_GONE = Text(
    pt="{table}: o que foi digitado em {cells} some, pois o registro não veio mais na listagem, ou "
    "veio com outro número de linhas.",
    en="{table}: what was typed in {cells} is lost, as its record is no longer in the listing, or "
    "has another number of rows.",
)
_BROKEN = Text(
    pt="{table}: estas fórmulas apontam para linhas que deixam de existir: {formulas}",
    en="{table}: these formulas refer to rows that no longer exist: {formulas}",
)
