"""Proposal of a schema file from an example workbook, with columns, kinds and rules.

A person corrects it. Every proposed rule holds for all rows of the example.
"""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Kind, strip_accents
from xlbridge.resources.checks import RULES
from xlbridge.settings import WorkbookLimits
from xlbridge.validation.header_row import WORD, best_row, searched_rows
from xlbridge.workbook.read import SheetCells, read_workbook

_MAX_CHOICES = 8
"""Maximum number of distinct texts that are proposed as allowed values."""
_ROWS_PER_CHOICE = 5
_CODE = re.compile(r"(?=.*\d)[0-9A-Za-z./\-_]{1,60}")
_AMOUNT_WORDS = frozenset({"valor", "preco", "total", "saldo", "custo", "desconto", "amount"})
_LENGTHS = (10, 20, 40, 60, 80, 120, 255, 500, 1000, 4000, 32767)
_KINDS = {"cnpj": Kind.CNPJ, "cpf": Kind.CPF, "email": Kind.TEXT, "uf": Kind.TEXT}
"""Kinds of columns by the format of their texts; columns with other formats are codes."""
_MAX_WHOLE = 10**15
_IMPORT = {"direct": "imports.direct", "queue": "imports.queue", "needs_processar": True}


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column of the proposal: ``header`` is the workbook's, ``filled`` the number of its filled
    cells, ``rules`` are those of the schema file."""

    name: str
    header: str
    kind: Kind
    required: bool
    example: object
    filled: int
    rules: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SchemaProposal:
    """A proposed resource, made from ``rows`` rows of a sheet."""

    name: str
    sheet: str
    rows: int
    columns: Sequence[SchemaColumn]

    @property
    def key(self) -> str | None:
        """Name of the first column whose values are complete and unique."""
        return next((column.name for column in self.columns if "no_repeats" in column.rules), None)

    def schema_file(self) -> str:
        """Return the text of the schema file."""
        import yaml

        head = Text(
            pt="# Proposto a partir de {rows} {rows:linha|linhas} da planilha {sheet}: "
            "confira cada coluna.\n",
            en="# Proposed from {rows} {rows:row|rows} of the sheet {sheet}: check each column.\n",
        ).format(rows=self.rows, sheet=self.sheet)
        described: dict[str, Any] = {}
        columns: dict[str, Any] = {}
        for column in self.columns:
            is_specific = column.kind.is_code or column.kind is Kind.MONEY
            kind = {"kind": column.kind.value} if is_specific else {}
            described[column.name] = kind | {"example": column.example}
            columns[column.name] = {
                "title": column.header,
                "dtype": column.kind.dtype,
                "required": column.required,
                "nullable": not column.required,
                **column.rules,
            }
        keys = {} if self.key is None else {"natural_keys": [self.key]}
        metadata = {"resource": self.name, "layout": 1, "import": _IMPORT}
        document = {
            "schema_type": "dataframe",
            "title": self.name,
            "coerce": False,
            "strict": False,
            "metadata": {**metadata, **keys, "columns": described},
            "columns": columns,
        }
        return str(head) + yaml.safe_dump(
            document,
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=False,
            width=100,
        )


def _count_names(cells: SheetCells, position: int) -> int:
    """Count the names in a row, which are distinct texts with data below; 0 if there are others."""
    filled = [value for value in cells.row(position) if value != ""]
    are_names = all(isinstance(value, str) for value in filled)
    is_header = are_names and len(set(filled)) == len(filled)
    return len(filled) if is_header and cells.has_data(position + 1) else 0


def propose_schema(
    path: str | Path, limits: WorkbookLimits, sheet: str | None, name: str | None
) -> SchemaProposal:
    """Propose a schema file from the header row and the rows of a workbook.

    The resource is named ``name``, or after the file. Raises ``UsageError`` if there is no such
    file or sheet, or no header row with rows below it; ``WorkbookRefused`` if it cannot be read.
    """
    path = Path(path)
    for cells in read_workbook(path, limits, sheet).sheets:
        position = best_row(_count_names(cells, row) for row in searched_rows(cells))
        if position is not None:
            below = range(position + 1, cells.height)
            rows = [row for row in below if any(value != "" for value in cells.row(row))]
            columns = list(_columns(cells, position, rows))
            name = name or "-".join(_plain_words(path.stem)) or "recurso"
            return SchemaProposal(name, cells.name, len(rows), columns)
    raise UsageError(
        Text(
            pt="{file}: não há uma linha de cabeçalho com linhas de dados abaixo.",
            en="{file}: there is no header row with rows of data below it.",
        ).format(file=path.name),
        Text(
            pt="Use um exemplo com os nomes das colunas e algumas linhas preenchidas.",
            en="Use an example with the names of the columns and some rows filled in.",
        ),
    )


def _columns(cells: SheetCells, position: int, rows: Sequence[int]) -> Iterator[SchemaColumn]:
    used: set[str] = set()
    has_key = False
    for header, cell_column in zip(cells.row(position), cells.columns, strict=True):
        filled = [value for value in cell_column.values(rows) if value != ""]
        if not filled or not isinstance(header, str) or not header.strip():
            continue
        name = header
        if not header.isidentifier() or not header.isascii() or header in used:
            # In camelCase, and unique.
            first, *rest = _plain_words(header) or ["coluna"]
            camel = first + "".join(word.capitalize() for word in rest)
            numbered = (f"{camel}{number}" for number in count(2))
            name = next(one for one in chain([camel], numbered) if one not in used)
        used.add(name)
        kind, rules = _kind_and_rules(header, filled)
        required = len(filled) == len(rows)
        is_key = not has_key and required and len(set(filled)) == len(filled) > 1
        if is_key and (kind.is_code or kind is Kind.INTEGER):
            rules["no_repeats"] = {}
            has_key = True
        example = filled[0]
        if isinstance(example, dt.datetime):
            example = example.date()
        elif kind is Kind.INTEGER and isinstance(example, float):
            example = int(example)
        elif kind is Kind.TEXT:
            example = str(example)
        yield SchemaColumn(name, header.strip(), kind, required, example, len(filled), rules)


def _kind_and_rules(header: str, values: list[object]) -> tuple[Kind, dict[str, Any]]:
    if all(isinstance(value, bool) for value in values):
        return Kind.BOOLEAN, {}
    if all(isinstance(value, dt.date) for value in values):
        return Kind.DATE, {}
    if all(isinstance(value, float) for value in values):
        numbers = [value for value in values if isinstance(value, float)]
        is_amount = not _AMOUNT_WORDS.isdisjoint(_plain_words(header))
        if is_amount and all(value == round(value, 2) for value in numbers):
            return Kind.MONEY, {"decimals": {"places": 2}}
        if all(value.is_integer() and abs(value) < _MAX_WHOLE for value in numbers):
            return Kind.INTEGER, {}
        return Kind.NUMBER, {}
    texts = [value.strip() for value in values if isinstance(value, str)]
    if len(texts) < len(values):
        return Kind.TEXT, {}
    for name, rule in RULES.items():
        test = rule.value_test
        if test and not rule.statistics and all(test(text, {}) for text in texts):
            return _KINDS.get(name, Kind.CODE), {name: {}}
    choices = sorted(set(texts))
    are_codes = all(map(_CODE.fullmatch, choices))
    if len(choices) <= _MAX_CHOICES and len(texts) >= _ROWS_PER_CHOICE * len(choices):
        return (Kind.CODE if are_codes else Kind.TEXT), {"isin": choices}
    if are_codes:
        widths = {len(text) for text in texts}
        shortest = min(widths) if len(widths) == 1 and len(texts) > 1 else 1
        return Kind.CODE, {"str_length": {"min_value": shortest, "max_value": max(widths)}}
    longest = max(map(len, texts))
    most = next(length for length in _LENGTHS if length >= longest)
    return Kind.TEXT, {"str_length": {"max_value": most}}


def _plain_words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(strip_accents(text))]
