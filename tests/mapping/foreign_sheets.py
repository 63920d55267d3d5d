"""Twins of the samples with foreign headers in another order, and their mappings."""

import random
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import validate_workbook
from xlbridge.validation.header_row import find_header_row, match_header
from xlbridge.workbook import column_index, column_letters
from xlbridge.workbook.read import read_workbook

_CELL = re.compile(r'<c\s+r="([A-Z]+)(\d+)"([^>]*?)(?:/>|>(.*?)</c>)', re.DOTALL)
_ROW = re.compile(r"(<row\b[^>]*>)(.*?)(</row>)", re.DOTALL)
_WORDS = ("Filial", "Cliente", "Emissão", "Vencto", "Valor (R$)", "CNPJ/CPF", "Fone", "Histórico")


@dataclass(frozen=True)
class ForeignTwin:
    """A sample with other headers in another order: ``moved`` maps old letters to new ones."""

    path: Path
    mapping: Path
    moved: dict[str, str]


def write_mapping(path: Path, **content: object) -> Path:
    """Write a mapping file of version 1."""
    document = {"version": 1, **content}
    path.write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False), "utf-8")
    return path


def foreign_twin(sample: Path, folder: Path, catalogue: Catalogue, seed: int) -> ForeignTwin:
    """Rewrite a sample with renamed and shuffled columns, and write its mapping."""
    validated = validate_workbook(sample, catalogue)
    assert validated.resource is not None
    cells = next(
        c for c in read_workbook(sample, WorkbookLimits()).sheets if c.name == validated.sheet
    )
    position = find_header_row(cells, validated.resource)
    assert position is not None
    columns = match_header(cells, position, validated.resource).columns
    letters = [column_letters(cells.first_column + n) for n in range(len(cells.columns))]
    order = random.Random(seed)
    moved = dict(zip(letters, order.sample(letters, len(letters)), strict=True))
    headers = {
        place: f"{order.choice(_WORDS)} {place}"
        for place in range(len(cells.columns))
        if cells.columns[place].value(position) != ""
    }
    path = folder / f"{sample.stem}-{seed}.xlsx"
    texts = {letters[place]: text for place, text in headers.items()}
    _write_moved(sample, path, cells.raw.part, position + 1, moved, texts)
    mapping = write_mapping(
        path.with_suffix(".yaml"),
        resource=validated.resource.name,
        header=list(headers.values()),
        columns={name: {"from": headers[place]} for name, place in columns.items()},
        ignore=[text for place, text in headers.items() if place not in columns.values()],
    )
    return ForeignTwin(path, mapping, moved)


def _write_moved(
    sample: Path, path: Path, part: str, header: int, moved: dict[str, str], texts: dict[str, str]
) -> None:
    """Rewrite a sample with its cells moved; ``texts`` are the new headers by old letters, which
    also replace those that are repeated further down."""
    with zipfile.ZipFile(sample) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        page = old.read(part).decode()
        own = {c[1]: (_type(c[3]), c[4]) for c in _CELL.finditer(page) if int(c[2]) == header}

        def cell(match: re.Match[str]) -> tuple[int, str]:
            letter, number, rest, body = match.groups()
            if letter in texts and (_type(rest), body) == own[letter]:
                rest = re.sub(r' t="\w+"', "", rest) + ' t="inlineStr"'
                body = f"<is><t>{texts[letter]}</t></is>"
            at = moved[letter]
            return column_index(at), f'<c r="{at}{number}"{rest}>{body or ""}</c>'

        def row(match: re.Match[str]) -> str:
            cells = sorted(map(cell, _CELL.finditer(match[2])))
            return match[1] + "".join(text for _, text in cells) + match[3]

        for name in old.namelist():
            content = _ROW.sub(row, page).encode() if name == part else old.read(name)
            new.writestr(name, content)


def _type(attributes: str) -> list[str]:
    return re.findall(r' t="(\w+)"', attributes)
