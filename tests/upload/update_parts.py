"""What the tests of changed records are made of: edited workbooks, titles, requests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lossy_proxy import LossyProxy
from openpyxl import load_workbook

from xlbridge.client import Client
from xlbridge.wire.financial import PAYABLE_LIST_OPEN

Run = Callable[..., tuple[int, dict[str, Any]]]
"""Runs a command that reports in JSON; returns its exit code and its report."""


def edit(path: Path, column: str, row: int, value: object) -> Path:
    """Change one cell of the first sheet, and save."""
    book = load_workbook(path)
    sheet = book.worksheets[0]
    header = [str(cell.value) for cell in sheet[1]]
    sheet.cell(row, header.index(column) + 1).value = value
    book.save(path)
    return path


def titles(client: Client) -> dict[tuple[object, ...], dict[str, Any]]:
    """Return the open payables by their numbers."""
    numbers = ("codigoDoExercicio", "codigoDaFilial", "numeroDaTransacao", "sequenciaDaTransacao")
    return {tuple(r[n] for n in numbers): dict(r) for r in client.records(PAYABLE_LIST_OPEN)}


def writes(proxy: LossyProxy) -> list[tuple[str, str]]:
    """Return the requests that write, in order; forget all."""
    seen = [(m, p) for m, p in proxy.seen if m != "GET" and not p.endswith("/autenticar")]
    proxy.seen.clear()
    return [(m, p) for m, p in seen if "preview=true" not in p]


def differing(was: dict[Any, Any], now: dict[Any, Any]) -> list[tuple[Any, str]]:
    """Return the records and fields in which two listings differ."""
    assert was.keys() == now.keys()
    return [(key, name) for key in was for name in was[key] if was[key][name] != now[key][name]]


def cell(path: Path, column: str, row: int) -> Any:
    """Return the value of a cell of the first sheet."""
    sheet = load_workbook(path).worksheets[0]
    header = [str(one.value) for one in sheet[1]]
    return sheet.cell(row, header.index(column) + 1).value
