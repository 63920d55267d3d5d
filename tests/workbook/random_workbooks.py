"""Workbooks of random rows, many with unusual values."""

import datetime as dt
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import xlsxwriter
from sheets import GOOD

_TEXTS = ("", "007", " x ", "12a", "1.234,56", "1,5", "ação", "=1+1", "#N/D", "a\nb", "31/12/2026")
_NUMBERS = (0, -1, 1.5, 1e15, 0.1, 12345678901234, 3.999, 2001)
_DATES = (dt.date(2026, 10, 5), dt.date(1901, 1, 1), dt.datetime(2026, 10, 5, 13, 30))
_FORMATS = ("0.00%", '"R$" #,##0.00', "[$US$-409] #,##0.00", "00000000", "#,##0,", '0 "un"', "@")
_DAYS = ("dd/mm/yyyy", "dd/mm/yyyy hh:mm")


def write_random_sheets(folder: Path, count: int, seed: int, *, inline: bool = False) -> list[Path]:
    """Write ``count`` workbooks, named by number, with inline or shared texts."""
    rng = random.Random(seed)
    paths = []
    for number in range(count):
        paths.append(folder / f"random-{number}.xlsx")
        _write(paths[-1], rng, inline=inline)
    return paths


def _write(path: Path, rng: random.Random, *, inline: bool) -> None:
    name = rng.choice(sorted(GOOD))
    top, left = rng.choice((0, 0, 2)), rng.choice((0, 0, 1))
    with xlsxwriter.Workbook(path, {"constant_memory": inline}) as book:
        page = book.add_worksheet(rng.choice(("Plan1", "Dados", "Ação")))
        formats = {code: book.add_format({"num_format": code}) for code in (*_FORMATS, *_DAYS)}
        formats["struck"] = book.add_format({"font_strikeout": True})
        page.write_row(top, left, list(GOOD[name]))
        rows = rng.randrange(1, 9)
        for number, row in enumerate(_rows(GOOD[name], rows, rng), start=top + 1):
            if rng.randrange(8) == 0:
                page.set_row(number, None, None, {"hidden": True})
            for column, value in enumerate(row, start=left):
                struck = formats["struck"] if rng.randrange(20) == 0 else None
                _write_cell(page, (number, column), top, value, formats, struck)
        if rng.randrange(4) == 0:
            page.set_column(left + 1, left + 1, 9, None, {"hidden": True})


def _write_cell(
    page: Any,
    position: tuple[int, int],
    top: int,
    value: Any,
    formats: Mapping[str, Any],
    struck: Any,
) -> None:
    match value:
        case ("error", text):
            page.write_formula(*position, "=NA()", None, text)
        case ("sum", _):
            letter = chr(ord("A") + position[1])
            page.write_formula(*position, f"=SUM({letter}{top + 2}:{letter}{position[0]})", None, 3)
        case (amount, code):
            page.write_number(*position, amount, formats[code])
        case bool() | int() | float():
            page.write(*position, value)
        case dt.date():
            page.write_datetime(*position, value, formats[_DAYS[isinstance(value, dt.datetime)]])
        case _ if value != "":
            page.write_string(*position, str(value), struck)


def _rows(good: Mapping[str, Any], count: int, rng: random.Random) -> Iterator[list[Any]]:
    for _ in range(count):
        yield [value if rng.randrange(3) else _odd_value(rng) for value in good.values()]


def _odd_value(rng: random.Random) -> Any:
    match rng.randrange(8):
        case 0 | 1:
            return rng.choice(_TEXTS)
        case 2:
            return rng.choice(_NUMBERS)
        case 3:
            return rng.choice(_DATES)
        case 4:
            return bool(rng.randrange(2))
        case 5:
            return ("error", "#N/A")
        case 6:
            return ("sum", None)
        case _:
            return rng.choice(_NUMBERS[2:]), rng.choice(_FORMATS)
