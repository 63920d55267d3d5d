"""Reports as data: grouped reasons, shortened tables, and the same content in each form."""

import html
import re
from dataclasses import replace
from decimal import Decimal

import pytest

from xlbridge.i18n import Text, override_language, untranslated
from xlbridge.report_forms import (
    Grade,
    Heading,
    Line,
    Report,
    ReportForms,
    Table,
    Tone,
    group_by_reason,
    list_first,
)
from xlbridge.titles import in_reais

NONE = Text(pt="Nenhuma.", en="None.")
SHEET = Text(pt="Linhas", en="Rows")


def table(*tones: Tone, most: int | None = None) -> Table:
    """Return a table of numbered lines."""
    lines = [Line((number,), tone) for number, tone in enumerate(tones, start=1)]
    return Table(sheet=SHEET, headings=(Heading(SHEET),), lines=lines, none=NONE, most=most)


def numbers(some: Table) -> list[object]:
    return [line.values[0] for line in some.lines]


def test_equal_reasons_are_grouped_in_the_order_of_their_first_items() -> None:
    rejected, held = Text(pt="rejeitada", en="rejected"), Text(pt="retida", en="held")
    rows = [(rejected, 2), (held, 3), (Text(pt="rejeitada", en="rejected"), 4)]
    assert group_by_reason(rows) == {rejected: [2, 4], held: [3]}


@pytest.mark.parametrize(
    ("items", "count", "en", "pt"),
    [
        ([2, 3, 4], None, "2, 3 … and 1 more", "2, 3 … e mais 1"),
        ([2, 3], None, "2, 3", "2, 3"),
        ([2, 3], 9, "2, 3 … and 7 more", "2, 3 … e mais 7"),
        ([], 9, "… and 9 more", "… e mais 9"),
        ([Text(pt="um", en="one"), "2"], None, "one, 2", "um, 2"),
    ],
)
def test_the_first_items_are_listed_and_the_others_counted(
    items: list[object], count: int | None, en: str, pt: str
) -> None:
    assert list_first(items, 2, count) == Text(pt=pt, en=en)


def test_a_shortened_table_has_its_open_lines_and_its_sum() -> None:
    whole = table(Tone.PLAIN, Tone.OPEN, Tone.PLAIN, Tone.OPEN, Tone.SUM)
    assert whole.cut(None) is whole.cut(4) is whole
    short = whole.cut(2)
    assert (numbers(short), short.omitted) == ([2, 4, 5], 2)
    longer = whole.cut(3)
    assert (numbers(longer), longer.omitted) == ([1, 2, 4, 5], 1)


def test_the_header_of_an_empty_column_of_reasons_is_left_aligned() -> None:
    headings = (
        Heading(Text(pt="Retidas", en="Held")),
        Heading(Text(pt="Motivo", en="Reason"), words=True),
    )
    some = Table(sheet=NONE, headings=headings, lines=[Line((1, None))], none=NONE)
    assert (some.is_numeric(0), some.is_numeric(1)) == (True, False)


def bars(*lines: tuple[object, ...], shares: bool = False) -> Table:
    """Return a table whose numbers are a picture, too."""
    headings = tuple(Heading(untranslated(f"<{n}>")) for n in range(len(lines[0])))
    filled = [
        Line((str(label), *(None if value is None else Decimal(str(value)) for value in values)))
        for label, *values in lines
    ]
    total = Line(("Total", *(Decimal(0) for _ in lines[0][1:])), Tone.SUM)
    columns = range(1, len(lines[0]))
    return Table(
        sheet=SHEET, headings=headings, lines=[*filled, total], bars=columns, shares=shares
    )


def widths(some: Table) -> list[float]:
    picture = some.picture
    assert picture is not None
    return [float(box.attrib["width"]) for box in picture.iterfind("g/rect")]


def test_a_picture_has_a_bar_for_each_line_and_its_numbers_as_text() -> None:
    small, large = widths(bars(("a", 1), ("b", 3)))
    assert large == pytest.approx(3 * small, rel=0.01)
    parts = widths(bars(("a", 1, 3), ("b", 2, 0), shares=True))
    assert parts[1] == pytest.approx(3 * parts[0], rel=0.01)
    assert parts[2] == pytest.approx(parts[0] + parts[1], rel=0.01)
    assert bars(("only", 1)).picture is None
    # A resource without amounts has no bar.
    assert len(widths(bars(("a", 1), ("none", None), ("b", 3)))) == 2
    with override_language("en"):
        page = ReportForms.of_report(lambda: Report(tables=[bars(("<a>", 1), ("b", 3))])).page()
    assert 'role="img" aria-label="Rows: &lt;a&gt; 1.00; b 3.00"' in page
    assert "<a>" not in page


def test_a_picture_says_what_its_bars_are_about_and_what_they_measure() -> None:
    week, amount = Text(pt="Semana", en="Week"), in_reais(Text(pt="Valor", en="Amount"))
    lines = [Line(("1", 2, Decimal(3), 5)), Line(("2", 4, Decimal(7), 11))]
    table = Table(sheet=SHEET, headings=(*map(Heading, (week, SHEET, amount)),), lines=lines)
    axes = {}
    for name, columns, shares in (
        ("money", [2], False),
        ("count", [1], False),
        ("several", [1, 2], False),
        ("shares", [1, 2], True),
    ):
        picture = replace(table, bars=columns, shares=shares).picture
        assert picture is not None
        axes[name] = [one.text for one in picture.iterfind("text[@class='axis']")]
    assert axes == {
        "money": ["Week", "Amount (R$)"],
        "count": ["Week", "Number of rows"],
        "several": ["Week", "Rows"],
        "shares": ["Week", "Rows (%)"],
    }


REPORT = Report(
    title=Text(pt="Envio de <clientes>", en="Upload of <clients>"),
    verdict=Text(pt="Faltam 2 linhas.", en="2 rows are left."),
    grade=Grade.ERROR,
    remarks=[Text(pt="Já gravadas: 5", en="Written since: 5")],
    problems=[Text(pt="linhas rejeitadas: 2", en="rows rejected: 2")],
    facts=[(Text(pt="Valor", en="Amount"), Decimal("1234.5"))],
    tables=[
        Table(
            sheet=SHEET,
            headings=(Heading(SHEET), Heading(Text(pt="Motivo", en="Reason"))),
            lines=[
                Line((row, "no CNPJ"), Tone.OPEN, f"  ✗ C{row}: no CNPJ", ("      see C1",))
                for row in range(2, 302)
            ],
            title=Text(pt="Rejeitadas", en="Rejected"),
            most=1,
        )
    ],
    next_steps=[Text(pt="A seguir: corrija.", en="Next: correct them.")],
)


def test_text_ends_with_the_verdict_and_the_next_step() -> None:
    assert "".join(ReportForms.of_report(lambda: REPORT).render("text")).splitlines() == [
        "Upload of <clients>",
        "  Amount: 1,234.50",
        "Rejected: 300",
        "  ✗ C2: no CNPJ",
        "      see C1",
        "  … and 299 more",
        "Written since: 5",
        "✗ rows rejected: 2",
        "2 rows are left.",
        "Next: correct them.",
    ]


def test_a_page_without_a_title_is_called_like_its_first_table() -> None:
    report = Report(tables=[Table(sheet=untranslated("Lotes"), lines=[])])
    page = "".join(ReportForms.of_report(lambda: report).render("html"))
    assert "<title>Lotes</title>" in page


def test_the_page_shows_what_the_text_says() -> None:
    with override_language("pt-BR"):
        page = "".join(ReportForms.of_report(lambda: REPORT).render("html"))
    assert "<clientes>" not in page
    shown = html.unescape(re.sub(r"<[^>]*>", " ", page))
    for text in (
        "Envio de <clientes>",
        "Faltam 2 linhas.",
        "linhas rejeitadas: 2",
        "Já gravadas: 5",
        "A seguir: corrija.",
        "1.234,50",
        "Rejeitadas",
        "Mostradas 200 de 300 linhas; --format json tem todas.",
    ):
        assert text in shown
    assert page.count('<tr class="open">') == 200


def test_text_names_the_values_of_a_line_without_a_sentence() -> None:
    headings = tuple(Heading(untranslated(name)) for name in ("listing", "sheets", "filters"))
    lines = [Line(("orders", "orders, items", None)), Line(("clients", "clients", "--from"))]
    report = Report(tables=[Table(sheet=SHEET, headings=headings, lines=lines)])
    assert list(map(str, ReportForms.of_report(lambda: report).lines())) == [
        "orders",
        "  sheets: orders, items",
        "clients",
        "  sheets: clients",
        "  filters: --from",
    ]


def test_lines_that_agree_are_left_out_first() -> None:
    tones = [Tone.PLAIN] * 300 + [Tone.OPEN]
    report = Report(
        title=SHEET, verdict=NONE, tables=[table(*tones)], complete=untranslated("the workbook")
    )
    page = ReportForms.of_report(lambda: report).page()
    assert "200 of 301 lines, those that do not agree first; the workbook has them" in page.replace(
        "&#39;", "'"
    )
    assert '<td class="number" data-label="Rows">301</td>' in page
