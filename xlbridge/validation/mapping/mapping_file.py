"""Mapping files: the mapping of a foreign sheet's columns to a resource's, read from YAML; search
for its header in a workbook; those used before, remembered for each profile by resource and header.

Every mistake in a file is reported with its line. It is remembered unchanged after a sheet was read
with it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from xlbridge.errors import UsageError
from xlbridge.files import as_arguments, write_private
from xlbridge.i18n import Text
from xlbridge.resources import KEY
from xlbridge.resources.models import (
    NOT_IN_FILES,
    OR_NULL,
    Block,
    Name,
    Schema,
    json_schema,
    read_as,
)
from xlbridge.resources.yaml_files import (
    InvalidFile,
    Mistake,
    YamlDocument,
    YamlPath,
    document_mistake,
    mistakes_of,
    read_document,
    unknown_value,
)
from xlbridge.settings import NumberStyle
from xlbridge.validation.cells.contents import list_sheet_names, quote_some, quoted
from xlbridge.validation.header_row import (
    REMARK_HEADERS,
    best_row,
    header_digest,
    header_key,
    header_texts,
    repeated_headers,
    searched_rows,
)
from xlbridge.workbook.read import SheetCells, WorkbookCells

Scalar = str | int | float | bool | None
TO_FILL_IN = "?"
"""Placeholder in a proposal for a value that only a person knows; it must be replaced."""


Sign = Literal["positive", "negative", "any"]

FoundMistake = tuple[YamlPath, Text]
"""Mistake in a mapping file: the YAML path and the message."""


class MappedColumn(
    Struct, frozen=True, kw_only=True, rename={"source": "from", "separator": "with"}
):
    """A column of the resource, and the source of its values.

    Either ``source``, or ``join`` with ``separator`` between the texts, or ``constant``.

    source: The header of the source column.
    values: The texts of the cells and their values; null is an empty cell. The keys cpf and
        cnpj match any document of that kind.
    numbers: The style of text numbers: pt is 1.234,56; en is 1,234.56.
    when: Selects the documents of one kind.
    sign: Selects the rows with a positive or a negative amount, or with any, which is used without
        its sign.
    month: The header of the month to which the days in the cells belong, such as "todo dia 10".
    later: The number of months after that one.
    join: The headers of the columns whose texts are joined.
    separator: The separator of joined texts; by default a space.
    suffix: A text after each text that is not empty, such as the number of an instalment.
    constant: One value for all rows.
    link: The registry in which the record that the cell or the constant names is looked up; its
        code is used. Words with values are looked up by these.
    down: True if the key stands in the first row of a record only; a row without it belongs to the
        record above.
    """

    source: Name | None = None
    values: Annotated[Mapping[str, Annotated[Scalar, OR_NULL]], Meta(min_length=1)] | None = None
    numbers: NumberStyle | None = None
    when: Literal["cpf", "cnpj"] | None = None
    sign: Sign | None = None
    month: Name | None = None
    later: int | str = 0
    join: Annotated[Sequence[Name], Meta(min_length=2)] = ()
    separator: str = " "
    suffix: Name | None = None
    constant: Scalar = None
    link: Name | None = None
    down: bool = False
    name: Annotated[str, NOT_IN_FILES] = ""

    @property
    def sources(self) -> Sequence[str]:
        """Source headers of the column, none for a constant."""
        if self.source is None:
            return self.join
        has_month = self.month not in {None, TO_FILL_IN}
        return (self.source, str(self.month)) if has_month else (self.source,)

    @property
    def body(self) -> Mapping[str, object]:
        """The column as in a mapping file."""
        if self.join:
            options = {key: it for key in ("suffix", "down") if (it := getattr(self, key))}
            return {"join": list(self.join), "with": self.separator, **options}
        if self.source is None:
            link = {} if self.link is None else {"link": self.link}
            return {"constant": self.constant, **link}
        options = {key: it for key in _FROM_OPTIONS if (it := getattr(self, key))}
        return {"from": self.source, **options}

    @property
    def is_direct(self) -> bool:
        """True if the cells are used unchanged."""
        options = self.values, self.when, self.month, self.suffix
        is_converted = self.sign in {"negative", "any"} or any(it is not None for it in options)
        return self.source is not None and not is_converted


class MappedList(Struct, frozen=True, kw_only=True):
    """A list of each record, whose rows are those with the same key; named as the resource, the
    records of each row, such as a title for each of its instalments.

    items: The columns of an item; one block for each of the items side by side in a row, such as
        instalments.
    once: True if each row of a record repeats its items, so that the first one has them all.
    """

    items: Annotated[
        Sequence[Annotated[Mapping[str, MappedColumn], Meta(min_length=1)]], Meta(min_length=1)
    ]
    once: bool = False


class MappingFile(Struct, frozen=True, kw_only=True):
    """Root of a mapping file.

    resource: The resource that the sheet is read as.
    header: The header that the mapping was made for.
    ignore: The headers that are not used.
    accept: The findings that are right as they are, each as CODE or CODE:COLUMN.
    rows: The headers whose words select rows, with true for the words of rows that are read, and
        false for those of rows that are left out.
    lists: The lists of the records, if a sheet has a row for each item; or the records of a row,
        named as the resource, with what distinguishes them from one another.
    title: What the sheet is, such as the export of another system.
    source: Where its columns are described.
    """

    version: Literal[1]
    title: Name | None = None
    source: Name | None = None
    resource: Name
    header: Annotated[tuple[Name, ...], Meta(min_length=1)]
    columns: Annotated[Mapping[str, MappedColumn], Meta(min_length=1)]
    ignore: tuple[Name, ...] = ()
    accept: tuple[Name, ...] = ()
    rows: Mapping[Name, Annotated[Mapping[str, bool], Meta(min_length=1)]] = {}
    lists: Mapping[Name, MappedList] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetMapping:
    """Mapping of a sheet with the given ``header`` to a resource, read from ``path``."""

    path: Path
    document: YamlDocument = field(compare=False, repr=False)
    resource: str
    header: tuple[str, ...]
    columns: tuple[MappedColumn, ...]
    ignore: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    rows: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    lists: Mapping[str, MappedList] = field(default_factory=dict)
    title: str | None = None
    source: str | None = None

    def error(self, found: Iterable[FoundMistake]) -> UsageError:
        """Return the error that the file has mistakes, with their lines."""
        return mapping_error(self.path, [document_mistake(self.document, *each) for each in found])

    @property
    def records(self) -> MappedList | None:
        """The records side by side in each row, None if each row is one record at most."""
        return self.lists.get(self.resource)

    @property
    def links(self) -> Mapping[str, str]:
        """Registries of the columns whose cells identify records."""
        found = (column for _, column in self.all_columns)
        return {column.name: column.link for column in found if column.link is not None}

    @property
    def all_columns(self) -> Iterator[tuple[YamlPath, MappedColumn]]:
        """Columns of the records, then of their lists, with the paths in the file."""
        yield from ((("columns", column.name), column) for column in self.columns)
        for name, one in self.lists.items():
            for number, block in enumerate(one.items):
                for column in block.values():
                    yield ("lists", name, "items", number, column.name), column

    @property
    def by_path(self) -> Mapping[str, MappedColumn]:
        """Columns of the records by name, and of their lists by ``item_path``."""
        return {
            item_path(str(path[1]), int(path[3]), column.name)
            if path[0] == "lists"
            else column.name: column
            for path, column in self.all_columns
        }


def item_path(name: str, number: int, column: str) -> str:
    """Return how a column of a list is called, such as ``produtos.1.quantidade``; ``number`` is
    that of the items side by side, from zero on."""
    return f"{name}.{number + 1}.{column}"


def mapping_error(path: Path, mistakes: Sequence[Mistake]) -> UsageError:
    """Return the error that a mapping file has mistakes, with their lines."""
    return InvalidFile(
        path,
        mistakes,
        Text(
            pt="O que um mapeamento pode conter: xlbridge map --json-schema; um novo: xlbridge "
            "map ARQUIVO",
            en="What a mapping may hold: xlbridge map --json-schema; a new one: xlbridge map FILE",
            page=_CONFIRM_COLUMNS,
        ),
    )


_CONFIRM_COLUMNS = Text(
    pt="Abra a planilha em Abrir e confirme as colunas.",
    en="Open the sheet under Open, and confirm the columns.",
)
_SOURCES = ("from", "join", "constant")
_FROM_OPTIONS = ("values", "numbers", "when", "sign", "month", "later", "link", "suffix", "down")
_OF_SOURCE = dict.fromkeys(_FROM_OPTIONS, ("from",)) | {
    "with": ("join",),
    "suffix": ("from", "join"),
    "down": ("from", "join"),
    "link": ("from", "constant"),
}
"""The sources of which each option of a column needs one."""


def mapping_format() -> Schema:
    """Return the JSON Schema (2020-12) of a mapping file."""
    return json_schema(
        "xlbridge mapping",
        "Mapping of the columns of a foreign sheet to those of a resource.",
        Block.of(MappingFile),
    )


def read_mapping(path: Path) -> SheetMapping:
    """Read a mapping file, without checking it against the resource.

    Raises ``UsageError`` if there is no such file, or with the line of each mistake.
    """
    if not path.is_file():
        raise UsageError(
            Text(pt="Não existe o mapeamento {path}.", en="There is no mapping {path}.").format(
                path=path
            ),
            Text(
                pt="Proponha um com: xlbridge map ARQUIVO -o {path}",
                en="Propose one with: xlbridge map FILE -o {path}",
                page=_CONFIRM_COLUMNS,
            ).format(path=as_arguments(path)),
        )
    document = read_document(path, dates=False)
    if isinstance(document, Mistake):
        raise mapping_error(path, [document])
    if mistakes := mistakes_of(document, Block.of(MappingFile)):
        raise mapping_error(path, mistakes)
    for find_mistakes in (_column_mistakes, _header_mistakes):
        found = find_mistakes(document.content)
        if mistakes := [document_mistake(document, *mistake) for mistake in found]:
            raise mapping_error(path, mistakes)
    file = read_as(MappingFile, document.content)
    content = {name: it for name, it in asdict(file).items() if name != "version"}
    content["columns"] = tuple(_named(file.columns).values())
    content["lists"] = {
        name: replace(one, items=list(map(_named, one.items))) for name, one in file.lists.items()
    }
    return SheetMapping(path=path, document=document, **content)


def _named(columns: Mapping[str, MappedColumn]) -> dict[str, MappedColumn]:
    return {name: replace(column, name=name) for name, column in columns.items()}


def _bodies(content: Mapping[str, Any]) -> Iterator[tuple[YamlPath, Mapping[str, Any]]]:
    """Yield the columns of the records and of their lists, with their paths."""
    yield from ((("columns", name), body) for name, body in content["columns"].items())
    for listed, one in content.get("lists", {}).items():
        for number, block in enumerate(one["items"]):
            for name, body in block.items():
                yield ("lists", listed, "items", number, name), body


def _column_mistakes(content: Mapping[str, Any]) -> Iterator[FoundMistake]:
    """Yield columns without exactly one source, and keys that do not match their source."""
    key, lists = content["columns"].get(KEY, {}), content.get("lists", {})
    if content["resource"] in lists:
        if len(lists) > 1:
            yield ("lists",), _ONLY_RECORDS.format(name=content["resource"])
    elif lists and not {"from", "join"} & key.keys():
        yield ("lists",), _KEY_NEEDED.format(key=KEY)
    for path, body in _bodies(content):
        if path[0] == "lists" and "sign" in body:
            yield (*path, "sign"), _NOT_IN_LISTS
        if "down" in body and not (path == ("columns", KEY) and content.get("lists")):
            yield (*path, "down"), _ONLY_OF_KEY.format(key=KEY)
        sources = [source for source in _SOURCES if source in body]
        if len(sources) != 1:
            yield path, _ONE_SOURCE
            continue
        for key, needed in _OF_SOURCE.items():
            if key in body and sources[0] not in needed:
                yield (*path, key), _ONLY_WITH.format(key=key, source=", ".join(needed))
        for key in ("numbers", "when", "sign", "month", "suffix"):
            if "link" in body and key in body:
                yield (*path, key), _NOT_WITH_LINK.format(key=key)
        known: dict[str, str] = {}
        for key in body.get("values", {}):
            first = known.setdefault(value_key(key), key)
            if first != key:
                message = _SAME_VALUE.format(key=quoted(key), first=quoted(first))
                yield (*path, "values", key), message
            if not value_key(key):
                yield (*path, "values", key), _BLANK_VALUE


def _header_mistakes(content: Mapping[str, Any]) -> Iterator[FoundMistake]:
    """Yield the headers that are used but unknown or repeated, and those that are neither used nor
    ignored."""
    known = tuple(content["header"])
    counts = Counter(map(header_key, known))
    used: set[str] = set()
    sources: list[tuple[YamlPath, str]] = []
    for place, body in _bodies(content):
        joined = enumerate(body.get("join", ()))
        sources += [((*place, "join", number), header) for number, header in joined]
        keys = (key for key in ("from", "month") if body.get(key) not in {None, TO_FILL_IN})
        sources += [((*place, key), body[key]) for key in keys]
    for path, header in sources:
        times = counts[header_key(header)]
        if not times:
            yield path, unknown_value(header, known)
        elif times > 1:
            yield path, _REPEATED.format(header=quoted(header), times=times)
        used.add(header_key(header))
    for header in content.get("rows", {}):
        if header_key(header) not in counts:
            yield ("rows", header), unknown_value(header, known)
        used.add(header_key(header))
    ignored: set[str] = set()
    for number, header in enumerate(content.get("ignore", ())):
        ignored.add(header_key(header))
        if header_key(header) not in counts:
            yield ("ignore", number), unknown_value(header, known)
        elif header_key(header) in used:
            yield ("ignore", number), _USED_AND_IGNORED.format(header=quoted(header))
    for number, header in enumerate(known):
        if header_key(header) not in used | ignored:
            yield ("header", number), _UNUSED.format(header=quoted(header))


def value_key(text: str) -> str:
    """Return a cell's text for comparison with the keys of ``values``: without case and extra
    spaces."""
    return " ".join(text.split()).casefold()


def remember_mapping(folder: Path, mapping: SheetMapping) -> Path:
    """Copy a used mapping file to ``folder``, replacing one for the same header; return the copy.

    Raises ``UsageError`` if it cannot be written.
    """
    copy = folder / f"{mapping.resource}-{header_digest(mapping.header)}.yaml"
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
        for position in searched_rows(cells)
    ]
    for mapping in reversed(mappings):
        its_header = Counter(map(header_key, mapping.header))
        if resource in (None, mapping.resource) and its_header in headers:
            return mapping
    return None


_ONE_SOURCE = Text(
    pt="use exatamente um destes: from, join, constant.",
    en="use exactly one of: from, join, constant.",
)
_ONLY_WITH = Text(pt="{key} só vale com {source}.", en="{key} is only valid with {source}.")
_NOT_WITH_LINK = Text(pt="{key} não vale com link.", en="{key} is not valid with link.")
_NOT_IN_LISTS = Text(pt="sign não vale em listas.", en="sign is not valid in lists.")
_KEY_NEEDED = Text(
    pt="falta em columns a {key}, de uma coluna (from): as linhas com a mesma são um registro.",
    en="columns lacks the {key}, from a column: rows with the same one are one record.",
)
_ONLY_RECORDS = Text(
    pt="com {name}, os registros de cada linha, não valem outras listas: o valor de cada parcela "
    "em cada rateio seria inventado. Use uma linha por parcela e centro de custo, com os valores.",
    en="no other lists are valid with {name}, the records of each row: the amount of each "
    "instalment in each share would be invented. Use a row for each instalment and cost centre, "
    "with amounts.",
)
_ONLY_OF_KEY = Text(
    pt="down só vale na {key}, com lists.", en="down is only valid in the {key}, with lists."
)
_SAME_VALUE = Text(
    pt="{key} é o mesmo que {first}; deixe um só.", en="{key} is the same as {first}; keep one."
)
_BLANK_VALUE = Text(
    pt="falta o texto da célula; uma célula vazia fica vazia.",
    en="the cell's text is missing; an empty cell stays empty.",
)
_USED_AND_IGNORED = Text(
    pt="{header} é usada em columns; tire-a daqui.",
    en="{header} is used in columns; remove it from here.",
)
_UNUSED = Text(
    pt="{header} não é usada: diga em columns a que coluna corresponde, ou ponha-a em ignore.",
    en="{header} is not used: map it to a column in columns, or add it to ignore.",
)
_REPEATED = Text(
    pt="{header} aparece {times} vezes no cabeçalho; dê outro nome a uma delas na planilha.",
    en="{header} appears {times} times in the header; rename one of them in the sheet.",
)


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
    def rows(self) -> Sequence[int]:
        """Excel's numbers of the rows below the header that do not repeat it."""
        below = range(self.position + 2, self.cells.height + 1)
        repeated = set(repeated_headers(self.cells, self.position + 1, self.columns.values()))
        return [row for row in below if row not in repeated]

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
    # The first row of each sheet with the most headers of the mapping.
    best = []
    for cells in workbook.sheets:
        headers = [header_texts(cells, position) for position in searched_rows(cells)]
        known = ((wanted & Counter(map(header_key, texts))).total() for texts in headers)
        if (position := best_row(known)) is not None:
            best.append(HeaderCandidate(cells, position, headers[position]))
    same = [row for row in best if not any(row.changes(mapping.header))]
    filled = [row for row in same if row.cells.has_data(row.position + 1)]
    if len(filled) > 1 and sheet is None:
        raise UsageError(
            Text(
                pt="Mais de uma planilha tem o cabeçalho do mapeamento: {sheets}.",
                en="More than one sheet has the header of the mapping: {sheets}.",
            ).format(sheets=list_sheet_names([row.cells.name for row in filled])),
            Text(
                pt="Informe qual com --sheet.",
                en="Choose one with --sheet.",
                page=Text(pt="Escolha a planilha em Abrir.", en="Choose the sheet under Open."),
            ),
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
                page=_CONFIRM_COLUMNS,
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
            page=_CONFIRM_COLUMNS,
        ).format(mapping=mapping.path, file=as_arguments(path)),
    )
