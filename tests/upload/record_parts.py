"""What the tests of records that are sent one by one are made of: sheets of product types."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from openpyxl import Workbook

from xlbridge.client import Client
from xlbridge.wire.registry import PRODUCT_TYPE_LIST

_numbers = itertools.count(1)


def described(count: int) -> list[str]:
    """Return descriptions that no other test has used."""
    return [f"Tipo {next(_numbers):05}" for _ in range(count)]


def make_types(path: Path, descriptions: Sequence[str]) -> Path:
    """Write a workbook of product types."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "tipo-de-produto"
    sheet.append(["codigoDoTipoDeProduto", "descricaoDoTipoDeProduto"])
    for description in descriptions:
        sheet.append([None, description])
    book.save(path)
    return path


def codes_of(client: Client, descriptions: Sequence[str]) -> list[str]:
    """Return the codes of the system's types with those descriptions, in the order of the codes."""
    return [
        str(one["codigoDoTipoDeProduto"])
        for one in client.records(PRODUCT_TYPE_LIST)
        if one["descricaoDoTipoDeProduto"] in descriptions
    ]
