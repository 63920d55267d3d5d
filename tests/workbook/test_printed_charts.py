"""Printed reports: a page of paper never cuts a picture, nor a table that fits it."""

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import openpyxl
import pytest

from xlbridge.i18n import untranslated
from xlbridge.report_forms import Heading, Line, Report, Table, Tone, more_text
from xlbridge.workbook.write import write_report

_COVER = untranslated("Capa")
_PAGE = 516
"""Points of rows on a page of A4 in landscape, if nothing is made smaller."""


def _table(lines: int, bars: Sequence[int] = (1,)) -> Table:
    headings = Heading(untranslated("Filial"), 44), Heading(untranslated("Valor"), 24)
    total = Line(("Total", Decimal(1)), Tone.SUM)
    amounts = [Line((f"linha {n}", Decimal(n))) for n in range(lines)]
    return Table(sheet=_COVER, headings=headings, lines=[*amounts, total], bars=bars)


@pytest.mark.parametrize("sizes", [(24, 3, 14, 10, 5), (60, 36, 3, 24), range(2, 12)])
def test_no_page_break_cuts_a_chart(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    path = tmp_path / "report.xlsx"
    report = Report(
        title=untranslated("Relatório"),
        verdict=untranslated("tudo certo " * 30),
        facts=[(untranslated("Fato"), number) for number in range(6)],
        tables=[_table(size) for size in sizes],
    )
    write_report(report, path, cover=_COVER, signature=("a", "b"))
    sheet = openpyxl.load_workbook(path)[str(_COVER)]
    widths = sum(column.width for column in sheet.column_dimensions.values())
    scale = min(1, 784 / (widths * 5.25))
    breaks = sorted({0, *(one.id for one in sheet.row_breaks.brk)})
    charts = [(one.anchor._from.row, one.anchor.to.row) for one in sheet._charts]
    assert len(charts) == len(sizes)
    for top, bottom in charts:
        page = max(row for row in breaks if row <= top)
        assert not [row for row in breaks if top < row <= bottom]
        heights = [sheet.row_dimensions[row + 1].height or 15 for row in range(page, bottom + 1)]
        assert sum(heights) * scale <= _PAGE


def test_no_page_break_cuts_a_table_that_fits_a_page(tmp_path: Path) -> None:
    path, sizes = tmp_path / "report.xlsx", (9, 12, 3, 20, 7, 5)
    report = Report(tables=[_table(size, bars=()) for size in sizes])
    write_report(report, path, cover=_COVER, signature=("a", "b"))
    sheet = openpyxl.load_workbook(path)[str(_COVER)]
    breaks = [one.id for one in sheet.row_breaks.brk]
    first = [row for row in range(1, sheet.max_row + 1) if sheet.cell(row, 1).value == "Filial"]
    assert len(breaks) > 1
    for top, size in zip(first, sizes, strict=True):
        assert not [row for row in breaks if top <= row < top + size + 1]


def test_a_chart_has_the_bars_of_a_page_and_says_how_many_it_leaves_out(tmp_path: Path) -> None:
    path, sizes = tmp_path / "report.xlsx", (25, 36, 40)
    report = Report(tables=[_table(size) for size in sizes])
    write_report(report, path, cover=_COVER, signature=("a", "b"))
    drawn, titles = [], []
    for chart in openpyxl.load_workbook(path)[str(_COVER)]._charts:
        first, last = map(int, re.findall(r"\$A\$(\d+)", chart.series[0].cat.numRef.f))
        drawn.append(last - first + 1)
        titles.append("".join(run.t for one in chart.title.tx.rich.p for run in one.r))
    assert drawn == [25, 36, 36]
    assert [title.endswith(f"({more_text(4)})") for title in titles] == [False, False, True]
    assert all(title.startswith("Filial · Valor") for title in titles)


@pytest.mark.parametrize(
    ("largest", "in_thousands"),
    [(900, False), (1_300, False), (2_500, False), (2_600, True), (-26_000, True)],
)
def test_steps_of_an_axis_are_not_rounded(tmp_path: Path, largest: int, in_thousands: bool) -> None:
    path = tmp_path / "report.xlsx"
    plain = _table(1)
    lines = [Line((f"linha {n}", Decimal(n))) for n in (largest, 5)]
    table = Table(sheet=_COVER, headings=plain.headings, lines=lines, bars=[1])
    write_report(Report(tables=[table]), path, cover=_COVER, signature=("a", "b"))
    [chart] = openpyxl.load_workbook(path)[str(_COVER)]._charts
    form = chart.y_axis.number_format.formatCode
    assert ("[>=1000]" in form) == in_thousands
    assert ("[<=-1000]-#" in form) == (in_thousands and largest < 0)
    assert not in_thousands or largest < 0 or chart.y_axis.majorUnit % 1000 == 0


def test_bars_below_their_labels_are_fewer_on_a_page() -> None:
    plain = _table(40)
    long = [Line((f"linha {n} com um nome comprido", Decimal(n))) for n in range(40)]
    for lines, shown in ((plain.lines, 36), (long, 18)):
        table = Table(sheet=_COVER, headings=plain.headings, lines=lines, bars=[1])
        assert table.picture is not None
        assert table.chart is not None
        texts = [text.text for text in table.picture.iter("text")]
        assert str(more_text(40 - shown)) in texts
        assert len(table.picture.findall("g")) == len(table.chart.bars) == shown


def test_open_bars_are_told_apart_without_colours(tmp_path: Path) -> None:
    path = tmp_path / "report.xlsx"
    plain = _table(3)
    lines = [Line(line.values, Tone.OPEN) for line in plain.lines[:1]] + list(plain.lines[1:])
    table = Table(sheet=_COVER, headings=plain.headings, lines=lines, bars=[1])
    write_report(Report(tables=[table]), path, cover=_COVER, signature=("a", "b"))
    [chart] = openpyxl.load_workbook(path)[str(_COVER)]._charts
    [series] = chart.series
    assert [point.spPr.pattFill is not None for point in series.dPt] == [True]
    assert series.spPr.pattFill is None
