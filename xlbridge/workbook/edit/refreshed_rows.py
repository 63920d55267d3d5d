"""Rows of a table in an analyst's workbook, replaced by others; what she added follows them.

Cells take the style of the first row of their column. Columns of her own are filled down if they
have a formula there; what she typed next to a row stays with its record, by the record's key.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from xml.sax.saxutils import escape

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.report_forms import list_first
from xlbridge.workbook.address import (
    MAX_ROWS,
    CellPosition,
    CellRange,
    cell_address,
    cell_position,
)
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.editable_cells import WorkbookStyles
from xlbridge.workbook.edit.editable_package import EditablePackage, SheetList, find_sheet_data
from xlbridge.workbook.edit.followers import (
    DRAWN_KINDS,
    drawn_rows,
    follow,
    moved_attributes,
    moved_formulas,
)
from xlbridge.workbook.edit.found_tables import FoundTable
from xlbridge.workbook.edit.references import RowChange, filled_down, parse_range
from xlbridge.workbook.edit.sheet_rows import CellXml, Formula, RowXml, SheetRows

_Key = tuple[str, ...]

_REF = re.compile(rb"""<(?:[\w.-]+:)?(\w+)\b[^>]*?\bref=["']([A-Z0-9:]+)["']""")
_COLUMN_STYLE = re.compile(
    rb"""<(?:[\w.-]+:)?col\b(?=[^>]*\bmin="(\d+)")(?=[^>]*\bmax="(\d+)")[^>]*\bstyle="(\d+)\""""
)
_ROW_ATTRIBUTES = re.compile(rb"""\s(?:r|spans|hidden)=("[^"]*"|'[^']*')""")
_HIDDEN = re.compile(rb"""\shidden=["'](?:1|true)["']""")
_NUMBER = re.compile(rb"""(\sr=["'])\d+""")
_FORMULA_ELEMENT = re.compile(rb"<((?:[\w.-]+:)?f)\b[^>]*?(?:/>|>[^<]*</\1\s*>)")
_TAG_START = re.compile(rb"<(/?)")
_SHOWN = 5


class RefreshedTable:
    """Table of an editable workbook whose rows are replaced.

    ``filled`` are the zero-based columns that the new rows have, ``keys`` those of them that tell
    the records apart, none if the sheet lacks one. ``losses`` name what cannot be kept, ``remarks``
    what stays but deserves a look. Raises ``UsageError`` if the rows cannot be replaced.
    """

    def __init__(
        self,
        package: EditablePackage,
        found: FoundTable,
        filled: Collection[int],
        keys: Sequence[int],
    ) -> None:
        self.found = found
        self.losses: list[Text] = []
        self.remarks: list[Text] = []
        self._package = package
        self._filled = filled
        self._keys = keys
        self._is_filtered = False
        self._sheet = SheetRows(package, found.part)
        self._styles = WorkbookStyles(package)
        self._column_styles = [
            (int(low) - 1, int(high) - 1, style.decode())
            for low, high, style in _COLUMN_STYLE.findall(self._sheet.content[: self._sheet.begin])
        ]
        self._shared = self._shared_formulas()
        self._old = {number: self._inside(number) for number in range(found.first, found.last + 1)}
        self._own = [c for c in range(found.left, found.right + 1) if c not in filled]
        self._templates = self._formulas_of_columns()
        self._typed = [
            column
            for column in self._own
            if column not in self._templates
            and any(column in row and row[column].is_filled for row in self._old.values())
        ]
        self._first_styles = {
            column: self.style(column, is_date=False)
            for column in range(found.left, found.right + 1)
        }
        self._refuse_fixed_ranges()
        self._name_exceptions()

    @property
    def uses_1904_dates(self) -> bool:
        """True if the workbook counts days from 1904."""
        return SheetList(self._package).uses_1904_dates

    def style(self, column: int, *, is_date: bool) -> str:
        """Return the id of the style of a column's cells; that of dates shows them."""
        first = self._old.get(self.found.first, {}).get(column)
        style = "0" if first is None else first.style
        if first is None:
            inherited = (s for low, high, s in self._column_styles if low <= column <= high)
            style = next(inherited, "0")
        if not is_date:
            return style
        shown = str(self._styles.for_date(int(style)))
        if shown != style:
            self._styles.save()
        return shown

    def write(self, rows: Iterable[Mapping[int, bytes]]) -> None:
        """Replace the rows; each maps columns to cells, with their addresses in the new row.

        Adds to ``losses`` what has no place among the new rows. Raises ``UsageError`` if something
        next to or below the table is in their way.
        """
        found = self.found
        new = list(rows) or [{}]
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
        pieces: list[bytes] = []
        for number in sorted(self._sheet.rows):
            row = self._sheet.rows[number]
            if number < found.first:
                pieces.append(self._other(row, change))
        for index, row_cells in enumerate(new):
            pieces.append(
                self._row(change, found.first + index, row_cells, typed[index], old_rows[index])
            )
        for number in sorted(self._sheet.rows):
            row = self._sheet.rows[number]
            if number > found.last and (change.moves or number > change.new_last):
                pieces.append(self._other(row, change))
            elif number > change.new_last and not change.moves:
                pieces.append(self._emptied(row, change))
        self._save(b"".join(pieces), change)

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
        follow(package, found, change)
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

    # Rows as they were

    def _inside(self, number: int) -> dict[int, CellXml]:
        cells = self._sheet.cells(number)
        return {c: cell for c, cell in cells.items() if self.found.left <= c <= self.found.right}

    def _shared_formulas(self) -> dict[str, tuple[CellPosition, Formula]]:
        """Return the formulas that other cells share, with their cells, by group."""
        shared = {}
        if b"shared" in self._sheet.content:
            for number, row in self._sheet.rows.items():
                for cell in row.cells() if b"shared" in row.xml else ():
                    formula = cell.formula
                    if formula and formula.kind == "shared" and formula.text:
                        shared[formula.group] = (number, cell.column), formula
        return shared

    def _formula(self, number: int, cell: CellXml) -> Formula | None:
        """Return a cell's formula, with a text of its own if it shares that of another cell."""
        formula = cell.formula
        if formula is None or formula.kind != "shared" or formula.group not in self._shared:
            return formula
        (row, column), master = self._shared[formula.group]
        text = filled_down(master.text, number - row, cell.column - column)
        return Formula(text, "", "", "")

    def _formulas_of_columns(self) -> dict[int, tuple[int, Formula]]:
        """Return the first formula of each column of her own that begins with one, and its row."""
        templates = {}
        first = self._old.get(self.found.first, {})
        for column in self._own:
            formula = self._formula(self.found.first, first[column]) if column in first else None
            if formula is not None:
                templates[column] = self.found.first, formula
        if self.found.table_part:
            root = xml.parse(self._package.read(self.found.table_part))
            for index, item in enumerate(root.iterfind("{*}tableColumns/{*}tableColumn")):
                text = item.findtext("{*}calculatedColumnFormula", "")
                column = self.found.left + index
                if text and column in self._own and column not in templates:
                    templates[column] = self.found.first, Formula(text, "", "", "")
        return templates

    # What is in the way, and what cannot be kept

    def _refuse_fixed_ranges(self) -> None:
        """Refuse what cannot be written into: merged cells, and formulas for several cells."""
        found, sheet = self.found, self._sheet
        area = found.first, found.left, found.last, found.right
        for name, text in _REF.findall(sheet.content, sheet.after):
            merged = parse_range(text.decode())
            if name == b"mergeCell" and merged and _overlap(merged, area):
                raise UsageError(_MERGED.format(table=found.title, range=text.decode()), _UNMERGE)
        for number, row in self._old.items():
            for column, cell in row.items():
                formula = cell.formula
                if formula is None or formula.kind not in {"array", "dataTable"}:
                    continue
                address = cell_address(number, column)
                if formula.kind == "dataTable" or formula.range not in {address, ""}:
                    raise UsageError(_FOR_SEVERAL.format(table=found.title, cell=address), _UNMERGE)

    def _name_exceptions(self) -> None:
        """Name what the new rows replace or cannot carry."""
        found = self.found
        headers = {found.left + n: header for n, header in enumerate(found.headers)}
        replaced = [
            cell_address(number, column)
            for number, row in self._old.items()
            for column in self._filled
            if column in row and row[column].formula
        ]
        if replaced:
            self.losses.append(_FORMULAS.format(table=found.title, cells=_first(replaced)))
        for column, (start, template) in self._templates.items():
            differing = []
            for number, row in self._old.items():
                cell = row.get(column)
                if cell is None:
                    continue
                formula = self._formula(number, cell)
                expected = filled_down(template.text, number - start)
                if (formula.text if formula else cell.is_filled) not in {expected, False, ""}:
                    differing.append(cell_address(number, column))
            if differing:
                self.losses.append(
                    _EXCEPTIONS.format(
                        table=found.title, column=headers[column], cells=_first(differing)
                    )
                )
        if self._typed and not self._keys:
            names = ", ".join(headers[column] for column in self._typed)
            self.losses.append(_NO_KEY.format(table=found.title, columns=names))
        styles = [
            headers[column]
            for column in self._filled
            if len({row[column].style for row in self._old.values() if column in row}) > 1
        ]
        if styles:
            self.remarks.append(
                _FORMATS.format(table=found.title, columns=list_first(styles, _SHOWN))
            )
        self._name_attached()

    def _name_attached(self) -> None:
        """Name notes, links and filters, which do not know records."""
        found, sheet, package = self.found, self._sheet, self._package
        area = found.first, found.left, found.last, found.right
        attached = []
        for kind, target in package.relations(found.part):
            if kind in {"comments", "threadedComment"} and target in package:
                attached += _REF.findall(package.read(target))
        attached += (
            one for one in _REF.findall(sheet.content, sheet.after) if one[0] == b"hyperlink"
        )
        cells = [
            text.decode()
            for _, text in attached
            if (place := parse_range(text.decode())) and _overlap(place, area)
        ]
        if cells:
            unique = list(dict.fromkeys(cells))
            self.losses.append(_ATTACHED.format(table=found.title, cells=_first(unique)))
        tables = [package.read(found.table_part)] if found.table_part else []
        if any(b"filterColumn" in content for content in (*tables, sheet.content[sheet.after :])):
            self._is_filtered = True
            self.remarks.append(_FILTERED.format(table=found.title))

    def _has_content_below(self) -> bool:
        """Return whether something below the rows has to move with their end."""
        found = self.found
        if found.has_totals:
            return True
        for number, row in self._sheet.rows.items():
            if number > found.last and any(
                found.left <= cell.column <= found.right and cell.is_filled for cell in row.cells()
            ):
                return True
        below = found.last + 1, found.left, MAX_ROWS, found.right
        return any(_overlap(area, below) for _, area in self._fixed_ranges()) or any(
            top > found.last and found.left <= column <= found.right
            for kind, target in self._package.relations(found.part)
            if kind in DRAWN_KINDS and target in self._package
            for top, column in drawn_rows(self._package.read(target))
        )

    def _fixed_ranges(self) -> Iterable[tuple[str, CellRange]]:
        """Yield the ranges of the sheet that cannot be cut in two: merged cells, other tables,
        pivot tables, formulas for several cells."""
        package, found = self._package, self.found
        for name, text in _REF.findall(self._sheet.content, self._sheet.begin):
            if name in {b"mergeCell", b"f"} and (area := parse_range(text.decode())):
                yield text.decode(), area
        for kind, target in package.relations(found.part):
            if kind in {"table", "pivotTable"} and target in package and target != found.table_part:
                for name, text in _REF.findall(package.read(target)):
                    if name in {b"table", b"location"} and (area := parse_range(text.decode())):
                        yield text.decode(), area

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

    # Rows as they will be

    def _rows_of_records(self, new: Sequence[Mapping[int, bytes]]) -> list[int | None]:
        """Return the old row of each new one that has the same record, None without one.

        Only columns that she typed need them; rows of one record are told apart by their order if
        their number is the same.
        """
        if not self._typed or not self._keys:
            return [None] * len(new)
        old_keys = {number: self._key(row) for number, row in self._old.items()}
        new_keys = [self._key(self._parsed(row)) for row in new]
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
            self.losses.append(_GONE.format(table=self.found.title, cells=_first(gone)))
        return rows

    def _parsed(self, row: Mapping[int, bytes]) -> dict[int, CellXml]:
        content = b"<row>" + b"".join(row[c] for c in self._keys if c in row) + b"</row>"
        return {cell.column: cell for cell in RowXml(0, b"", content, 0).cells()}

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
            for cell in (row.cells() if row is not None else ())
            if not found.left <= cell.column <= found.right
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

    def _emptied(self, row: RowXml, change: RowChange) -> bytes:
        """Return a row that the table no longer reaches, with the cells next to it."""
        found, prefix = self.found, self._sheet.prefix
        cells = b"".join(
            self._plain(row.number, row.number, cell, change)
            for cell in row.cells()
            if not found.left <= cell.column <= found.right
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
        return area is not None and _overlap(area, inside)


_FORMULA_ADDRESS = re.compile(
    rb"""<(?:[\w.-]+:)?c\b[^>]*?\br=["']([A-Z]+\d+)["'][^>]*>\s*<(?:[\w.-]+:)?f\b"""
)
_DIMENSION = re.compile(rb"""(<(?:[\w.-]+:)?dimension\b[^>]*?\bref=["'][A-Z]+\d+:[A-Z]+)\d+""")
_NUMBER_OF_ROW = re.compile(rb"""<(?:[\w.-]+:)?row\b[^>]*?\br=["'](\d+)["']""")


def _overlap(area: CellRange, other: CellRange) -> bool:
    top, left, bottom, right = area
    return top <= other[2] and bottom >= other[0] and left <= other[3] and right >= other[1]


def _comparable(text: str) -> str:
    """Return a key as it is compared: numbers by value."""
    try:
        return f"{Decimal(text).normalize():f}"
    except InvalidOperation:
        return text.strip().casefold()


def _first(cells: Sequence[str]) -> Text:
    return list_first(cells, _SHOWN)


_MERGED = Text(
    pt="{table}: as células mescladas {range} estão nas linhas a substituir.",
    en="{table}: the merged cells {range} are among the rows to replace.",
)
_FOR_SEVERAL = Text(
    pt="{table}: {cell} faz parte de uma fórmula de várias células, nas linhas a substituir.",
    en="{table}: {cell} is part of a formula for several cells, among the rows to replace.",
)
_UNMERGE = Text(
    pt="Desfaça-as ou leve-as para fora da tabela, e repita.",
    en="Undo them or move them out of the table, and try again.",
)
_TOO_MANY = Text(
    pt="{table}: {n} linhas não cabem na planilha.", en="{table}: {n} rows do not fit the sheet."
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
_FORMULAS = Text(
    pt="{table}: fórmulas em colunas da listagem são trocadas por valores: {cells}",
    en="{table}: formulas in columns of the listing are replaced by values: {cells}",
)
_EXCEPTIONS = Text(
    pt="{table}, coluna {column}: a fórmula da primeira linha substitui o que é diferente em "
    "{cells}",
    en="{table}, column {column}: the formula of the first row replaces what differs in {cells}",
)
_NO_KEY = Text(
    pt="{table}: o que foi digitado em {columns} some, pois a planilha não tem as colunas da chave "
    "dos registros.",
    en="{table}: what was typed in {columns} is lost, as the sheet lacks the columns of the "
    "records' key.",
)
_GONE = Text(
    pt="{table}: o que foi digitado em {cells} some, pois o registro não veio mais na listagem, ou "
    "veio com outro número de linhas.",
    en="{table}: what was typed in {cells} is lost, as its record is no longer in the listing, or "
    "has another number of rows.",
)
_ATTACHED = Text(
    pt="{table}: anotações e links ficam na célula em que estão, e não acompanham o registro: "
    "{cells}",
    en="{table}: notes and links stay at their cells and do not follow the record: {cells}",
)
_FORMATS = Text(
    pt="{table}: cada coluna fica com o formato da primeira linha; havia outros em: {columns}",
    en="{table}: each column takes the format of its first row; there were others in: {columns}",
)
_FILTERED = Text(
    pt="{table}: o filtro fica, mas todas as linhas aparecem até ele ser reaplicado.",
    en="{table}: the filter stays, but all rows are shown until it is applied again.",
)
_BROKEN = Text(
    pt="{table}: estas fórmulas apontam para linhas que deixam de existir: {formulas}",
    en="{table}: these formulas refer to rows that no longer exist: {formulas}",
)
