"""Workbooks for uploads."""

import io
from collections.abc import Sequence
from typing import Any

import openpyxl

Files = dict[str, tuple[str, bytes]]


def workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    """Return an .xlsx of one sheet; empty text is an empty cell."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append([None if value == "" else value for value in row])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def upload(rows: Sequence[Sequence[Any]], filename: str = "planilha.xlsx") -> Files:
    """Return the multipart form of an import."""
    return {"ArquivoExcel": (filename, workbook(rows))}
