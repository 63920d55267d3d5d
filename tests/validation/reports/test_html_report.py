"""HTML report in a real browser.

Inside: validation.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pytest
from browser import Page
from environment import ROOT
from sheets import write_records

from xlbridge.errors import UsageError
from xlbridge.i18n import Text, set_language
from xlbridge.resources import Catalogue
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding, Severity
from xlbridge.validation import RefusedFile, ValidatedSheet, validate_workbook
from xlbridge.validation.report import Report, record_names, without_cells
from xlbridge.validation.report_formats import report_forms
from xlbridge.validation.results import FixedCopy

pytestmark = pytest.mark.programs

SAMPLE = ROOT / "samples" / "contasreceber-com-erros.xlsx"
WIDTHS = pytest.mark.parametrize("width", [1200, 360])
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='o'\">"
)

VISIBLE_CELLS = "[...document.querySelectorAll('tbody tr')].map((row) => row.dataset.cell)"
SHOWN = "document.querySelector('.shown').textContent"


def written(
    tmp_path: Path, *validated: ValidatedSheet | RefusedFile, limit: int | None = None
) -> Path:
    path = tmp_path / "report.html"
    path.write_text(report_forms(Report(validated, limit)).page(), encoding="utf-8")
    return path


@pytest.fixture
def sample(catalogue: Catalogue) -> ValidatedSheet:
    return validate_workbook(SAMPLE, catalogue)


def sheet_of(findings: list[Finding], sheet: str = "Plan1") -> ValidatedSheet:
    return ValidatedSheet(Path("cr.xlsx"), None, sheet, 1, findings=findings)


def cells(sheet: ValidatedSheet, **wanted: str) -> list[str | None]:
    return [
        f.cell
        for f in sorted(sheet.findings, key=lambda f: f.kind.severity is Severity.WARNING)
        if wanted.get("code") in (None, f.kind.code) and wanted.get("column") in (None, f.column)
    ]


@WIDTHS
def test_filters_show_only_matching_findings(
    tmp_path: Path, page: Page, sample: ValidatedSheet, width: int
) -> None:
    page.open(written(tmp_path, sample), width=width)
    assert page.run(VISIBLE_CELLS) == cells(sample)
    page.choose("Rule", "value-range")
    assert page.run(VISIBLE_CELLS) == cells(sample, code="value-range")
    page.choose("Column", "Código da filial")
    both = cells(sample, code="value-range", column="codigoDaFilial")
    assert page.run(VISIBLE_CELLS) == both == ["A5"]
    page.choose("Rule", "")
    assert page.run(VISIBLE_CELLS) == cells(sample, column="codigoDaFilial")
    page.choose("Column", "")
    page.choose("Cell or row", "a5")
    assert page.run(VISIBLE_CELLS) == ["A5"]
    page.choose("Cell or row", "5")
    assert set(page.run(VISIBLE_CELLS)) == {f.cell for f in sample.findings if f.row == 5}
    page.choose("Cell or row", "ZZ99")
    assert page.run(VISIBLE_CELLS) == []
    assert page.run(SHOWN).startswith("Showing 0 of 0")


@WIDTHS
def test_page_fits_the_screen_width(
    tmp_path: Path, page: Page, sample: ValidatedSheet, width: int
) -> None:
    long = Finding(CATALOGUE["type-boolean"], 9, "c" * 90, "XFD1048576", "x" * 400)
    page.open(written(tmp_path, sheet_of([*sample.findings, long])), width=width)
    assert page.run("innerWidth") == width
    assert page.run("document.documentElement.scrollWidth") <= width
    too_wide = (
        "[...document.querySelectorAll('main *')]"
        ".filter((it) => it.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert page.run(too_wide) == 0


def test_cell_address_links_to_the_workbook(
    tmp_path: Path, page: Page, sample: ValidatedSheet
) -> None:
    sample.sheet = "Títulos d'outubro"
    page.open(written(tmp_path, sample), width=1200)
    page.run("document.querySelector('tr[data-cell=\"A5\"] button').click()")
    text = page.run(
        "new Promise(done => { const look = () => toast.textContent "
        "? done(toast.textContent) : setTimeout(look, 20); look(); })"
    )
    assert "'Títulos d''outubro'!A5" in text
    assert page.run("document.querySelector('tr[aria-current]').dataset.cell") == "A5"


def test_url_fragment_shows_its_cell(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    page.open(written(tmp_path, sample), width=1200, fragment="#B6")
    assert page.run(VISIBLE_CELLS) == ["B6"]


def test_text_of_a_workbook_is_never_markup(tmp_path: Path, page: Page) -> None:
    details = {"header": HOSTILE, "resource": HOSTILE, "suggestion": HOSTILE}
    finding = Finding(CATALOGUE["column-unknown"], 1, HOSTILE, "A1", HOSTILE, details)
    refused = RefusedFile(Path(HOSTILE), UsageError(Text(pt=HOSTILE, en=HOSTILE)))
    path = written(tmp_path, sheet_of([finding], sheet=HOSTILE), refused)
    page.open(path, width=1200)
    assert page.run("document.title") == "Validation by xlbridge"
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.run("document.querySelectorAll('script').length") == 2
    assert page.run("document.querySelector('.value').textContent") == HOSTILE
    assert HOSTILE in page.run("document.querySelectorAll('h2')[1].textContent")


def test_the_page_loads_nothing(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    path = written(tmp_path, sample)
    page.open(path, width=1200)
    assert page.run("performance.getEntriesByType('resource').length") == 0
    content = path.read_text(encoding="utf-8")
    assert re.findall(r"\b(?:src|href)\s*=", content) == []
    assert "default-src 'none'" in content
    blocked = "fetch('data:text/plain,x').then(() => 'loaded', () => 'blocked')"
    assert page.run(blocked) == "blocked"


@pytest.fixture
def portuguese() -> Iterator[None]:
    set_language("pt-BR")
    yield
    set_language("en")


@pytest.mark.usefixtures("portuguese")
def test_the_page_speaks_portuguese(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    page.open(written(tmp_path, sample), width=360)
    assert page.run("document.documentElement.lang") == "pt-BR"
    page.choose("Regra", "value-range")
    assert page.run(VISIBLE_CELLS) == cells(sample, code="value-range")
    assert "O valor deve ser maior que 0." in page.run("document.querySelector('tbody').innerText")


def test_only_some_of_many_findings_are_shown_but_all_are_counted(
    tmp_path: Path, page: Page
) -> None:
    many = [
        Finding(CATALOGUE["type-boolean"], row, "codigo", f"B{row}", "x")
        for row in range(2, 100_002)
    ]
    path = written(tmp_path, sheet_of(many))
    assert path.stat().st_size < 1_000_000
    page.open(path, width=360)
    assert page.run("document.querySelectorAll('tbody tr').length") == 200
    assert page.run(SHOWN) == "Showing 200 of 10,000 findings (in the whole sheet: 100,000)"
    assert "first 10,000 of 100,000" in page.run("document.querySelector('.cut').textContent")
    assert "(100,000)" in page.run("document.querySelector('option[value=codigo]').textContent")
    page.run("document.querySelector('.more').click()")
    assert page.run("document.querySelectorAll('tbody tr').length") == 400
    page.choose("Cell or row", "B9999")
    assert page.run(VISIBLE_CELLS) == ["B9999"]


def test_the_cap_is_an_option(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    page.open(written(tmp_path, sample, limit=3), width=1200)
    assert page.run(VISIBLE_CELLS) == cells(sample)[:3]
    assert f"errors: {sample.errors}" in page.run("document.querySelector('.counts').textContent")


def test_fixed_cells_are_listed(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    text_date = next(f for f in sample.findings if f.kind.code == "date-as-text")
    sample.fixes = FixedCopy(tmp_path / "fixed.xlsx", [text_date])
    page.open(written(tmp_path, sample), width=360)
    page.run("document.querySelector('summary').click()")
    text = page.run("document.querySelector('details').innerText")
    assert "fixed.xlsx: 1" in text
    assert f"{text_date.cell} Data de emissão" in text
    assert "25/09/2026" in text


def test_dark_scheme_applies_to_the_screen_but_not_to_print(
    tmp_path: Path, page: Page, sample: ValidatedSheet
) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page.open(written(tmp_path, sample), width=1200)
    try:
        page.emulate_media(scheme="dark")
        assert page.run(ground) == "rgb(18, 23, 30)"
        page.emulate_media("print")
        assert page.run(ground) == "rgb(255, 255, 255)"
        hidden = "getComputedStyle(document.querySelector('.filters')).display"
        assert page.run(hidden) == "none"
    finally:
        page.emulate_media()


def test_printing_includes_all_filtered_findings(tmp_path: Path, page: Page) -> None:
    many = [
        Finding(CATALOGUE["type-boolean"], row, "codigo", f"B{row}", "x") for row in range(2, 902)
    ]
    page.open(written(tmp_path, sheet_of(many)), width=1200)
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run("document.querySelectorAll('tbody tr').length") == 900


def test_hints_for_the_mouse_are_not_printed(tmp_path: Path, page: Page) -> None:
    kinds = [CATALOGUE["type-boolean"]] * 4 + [CATALOGUE["type-integer"]]
    found = [
        Finding(kind, row, "codigo", f"B{row}", "x", {"why": ""})
        for row, kind in enumerate(kinds, 2)
    ]
    page.open(written(tmp_path, sheet_of(found)), width=1200)
    heading = "document.querySelector('.rules > p').innerText"
    assert page.run(heading) == "By rule (click to filter)"
    page.emulate_media("print")
    try:
        assert page.run(heading).strip() == "By rule"
    finally:
        page.emulate_media()


VALUE = "document.querySelector('.value').textContent"
MARKS = "[...document.querySelectorAll('.value .mark')].map((it) => [it.textContent, it.title])"


@pytest.mark.parametrize(
    ("value", "shown", "marks"),
    [
        ("Bela\u00a0Vista", "Bela␣Vista", [["␣", "U+00A0 NO-BREAK SPACE"]]),
        ("12\u200b", "12⟨U+200B⟩", [["⟨U+200B⟩", "ZERO WIDTH SPACE"]]),
        ("A\u202e1", "A⟨U+202E⟩1", [["⟨U+202E⟩", "RIGHT-TO-LEFT OVERRIDE"]]),
        ("a\tb", "a⇥b", [["⇥", "tab"]]),
        ("a\r\nb", "a␍↵b", [["␍", "carriage return"], ["↵", "line break"]]),
        ("a\x01", "a⟨U+0001⟩", [["⟨U+0001⟩", "control character"]]),
        (" a b ", "·a b·", [["·", "space at the beginning or end"]]),
        ("a ␣ b", "a ␣ b", []),
    ],
)
def test_invisible_characters_have_a_symbol_and_its_name(
    tmp_path: Path, page: Page, value: str, shown: str, marks: list[list[str]]
) -> None:
    finding = Finding(CATALOGUE["email-invalid"], 2, "codigo", "B2", value)
    page.open(written(tmp_path, sheet_of([finding])), width=360)
    assert page.run(VALUE) == shown
    found = page.run(MARKS)
    assert [mark for place, mark in enumerate(found) if mark not in found[:place]] == marks
    legend = page.run("document.querySelector('.legend')?.textContent")
    assert (legend is not None) == bool(marks)
    for mark in marks:
        assert " ".join(mark) in legend


def test_right_to_left_text_does_not_affect_other_text(tmp_path: Path, page: Page) -> None:
    finding = Finding(CATALOGUE["email-invalid"], 2, "codigo", "B2", "\u05d0\u05d1 12")
    page.open(written(tmp_path, sheet_of([finding])), width=1200)
    isolated = "getComputedStyle(document.querySelector('.value > div')).unicodeBidi"
    assert page.run(isolated) == "plaintext"


def test_long_value_is_truncated_with_a_note(tmp_path: Path, page: Page) -> None:
    finding = Finding(CATALOGUE["email-invalid"], 2, "codigo", "B2", "x" * 501)
    page.open(written(tmp_path, sheet_of([finding])), width=360)
    assert page.run(VALUE) == "x" * 500 + "…"


def test_findings_can_be_chosen_by_severity(
    tmp_path: Path, page: Page, sample: ValidatedSheet
) -> None:
    page.open(written(tmp_path, sample), width=360)
    page.choose("Severity", "warning")
    warnings = [f.cell for f in sample.findings if f.kind.severity is Severity.WARNING]
    assert page.run(VISIBLE_CELLS) == warnings != []
    page.choose("Rule", "value-range")
    assert page.run(VISIBLE_CELLS) == []


def test_a_summary_by_rule_filters(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    page.open(written(tmp_path, sample), width=1200)
    rules = "[...document.querySelectorAll('.rule')].map((it) => [it.value, it.innerText])"
    counts = Counter(finding.kind.code for finding in sample.findings)
    shown_counts = {code: int(text.split()[0]) for code, text in page.run(rules)}
    assert shown_counts == counts
    pictures = "[...document.querySelectorAll('.pictures svg')].map((it) => it.ariaLabel)"
    by_column, by_rule = page.run(pictures)
    assert by_column.startswith("Findings by column: Valor do lançamento 4; ")
    ((most, count),) = counts.most_common(1)
    about = str(CATALOGUE[most].summary({}))
    assert by_rule.startswith(f"Findings by rule: {about} {count}; ")
    page.run("document.querySelector('.rule[value=value-range]').click()")
    assert page.run(VISIBLE_CELLS) == cells(sample, code="value-range")
    pressed = "[...document.querySelectorAll('.rule[aria-pressed=true]')].map((it) => it.value)"
    assert page.run(pressed) == ["value-range"]
    page.run("document.querySelector('.rule[value=value-range]').click()")
    assert page.run(VISIBLE_CELLS) == cells(sample)
    assert page.run(pressed) == []


def test_finding_shows_the_name_of_its_record(
    tmp_path: Path, page: Page, sample: ValidatedSheet
) -> None:
    page.open(written(tmp_path, sample), width=1200)
    record_name = "document.querySelector('tr[data-cell={}] td:nth-child(2)').innerText"
    assert page.run(record_name.format("A4")).splitlines() == [
        "Venda de mercadorias, pedido 4001",
        "NF-20260001",
    ]
    assert page.run(record_name.format("O3")) == ""


def test_records_are_named_for_errors_found_later(tmp_path: Path, catalogue: Catalogue) -> None:
    row = {"nomeComercial": "Padaria", "cnpj": "11.222.333/0001-81"}
    validated = validate_workbook(write_records(tmp_path / "a.xlsx", "cliente", [row]), catalogue)
    assert validated.ok
    kept = without_cells(validated)
    kept.add([validated.finding("duplicate-across-sheets", "cnpj", 0, {"first": "b.xlsx · A!C2"})])
    assert record_names(kept, 2) == ["Padaria", "11222333000181"]
    assert set(kept.frame) < set(validated.frame)


def test_finding_on_most_of_a_column_is_shown_once_with_its_count(
    tmp_path: Path, page: Page, catalogue: Catalogue
) -> None:
    rows = [{"nomeComercial": f" Padaria {n}", "cnpj": None, "email": "x"} for n in range(12)]
    source = write_records(tmp_path / "a.xlsx", "cliente", rows)
    validated = validate_workbook(source, catalogue)
    page.open(written(tmp_path, validated), width=1200)
    assert page.run(VISIBLE_CELLS) == [*(f"D{row}" for row in range(2, 14)), "A2"]
    assert page.run(SHOWN) == "Showing 24 of 24 findings (in the whole sheet: 24)"
    last = page.run("document.querySelector('tbody tr:last-child').innerText")
    assert "12 cells of the column" in last

    report_forms(Report([validated], limit=1)).workbook(tmp_path / "marked.xlsx")
    book = openpyxl.load_workbook(tmp_path / "marked.xlsx")
    sheet = book[validated.sheet]
    assert "12 cells of the column" in sheet["A2"].comment.text
    assert sheet["A3"].comment is None
    assert all(sheet[f"D{row}"].comment is not None for row in range(2, 14))
    coloured = [str(block.sqref) for block in sheet.conditional_formatting]
    assert sorted(coloured) == ["A2:A13", "D2:D13"]


def test_rules_are_described_in_words(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    page.open(written(tmp_path, sample), width=360)
    rule = "document.querySelector('option[value=date-ambiguous]').textContent"
    assert page.run(rule) == "The date is text and may be … or … [date-ambiguous] (1)"


def test_filtered_findings_are_counted_completely(tmp_path: Path, page: Page) -> None:
    kinds = ("email-invalid", "cpf-invalid")
    findings = [
        Finding(CATALOGUE[kinds[row > 4]], row, "codigo", f"B{row}", "x") for row in range(2, 12)
    ]
    page.open(written(tmp_path, sheet_of(findings), limit=5), width=1200)
    page.choose("Rule", "cpf-invalid")
    assert page.run(SHOWN) == "Showing 2 of 2 findings (in the whole sheet: 7)"


def test_a_single_file_has_a_verdict(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    verdict = "document.querySelector('.verdict p').innerText"
    page.open(written(tmp_path, sample), width=1200)
    counts = f"{sample.errors} errors and {sample.warnings} warnings"
    assert page.run(verdict) == f"Cannot be sent like this: {counts}."
    page.open(written(tmp_path, ValidatedSheet(Path("good.xlsx"), None, "Plan1", 1)), width=1200)
    assert page.run(verdict) == "No errors and no warnings."
    refused = RefusedFile(Path("lost.xlsx"), UsageError(Text(pt="x", en="x")))
    page.open(written(tmp_path, refused), width=1200)
    assert page.run(verdict) == "The file was not checked."


def test_several_files_have_a_total_and_links_to_each(
    tmp_path: Path, page: Page, sample: ValidatedSheet
) -> None:
    refused = RefusedFile(Path("lost.xlsx"), UsageError(Text(pt="x", en="x")))
    good = ValidatedSheet(Path("good.xlsx"), None, "Plan1", 1)
    page.open(written(tmp_path, sample, refused, good), width=360)
    text = page.run("document.querySelector('.verdict').innerText")
    total = f"files: 3 · passed: 1 · rows: {len(sample.rows)} · errors: {sample.errors}"
    assert total in text
    assert page.run("document.querySelectorAll('nav li').length") == 3
    page.run("document.querySelectorAll('nav button')[2].click()")
    assert page.run("document.activeElement.textContent") == "✓ good.xlsx"
    page.open(written(tmp_path, sample), width=360)
    assert page.run("document.querySelector('nav')") is None


def test_the_page_names_the_next_step_and_counts_by_rule_as_text_does(
    tmp_path: Path, page: Page, sample: ValidatedSheet
) -> None:
    good = ValidatedSheet(Path("good.xlsx"), None, "Plan1", 1)
    for sheets in ([sample], [sample, good]):
        path = written(tmp_path, *sheets)
        page.open(path, width=360)
        shown = page.run("document.querySelector('main').innerText").splitlines()
        end = report_forms(Report(sheets)).lines()
        *_, last = lines = [str(line) for line in end]
        assert last in shown
        fixable = [line for line in lines if "--fix: " in line]
        assert set(fixable) <= set(shown) != set()
        facts = page.run("[...document.querySelectorAll('dt')].map((it) => it.innerText)")
        wanted = [line.partition(":")[0] for line in lines if " by rule (" in line]
        assert facts == (wanted if len(sheets) > 1 else [])


def test_a_few_findings_need_no_filters(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    visible = "document.querySelector('.filters').checkVisibility()"
    page.open(written(tmp_path, sheet_of(sample.findings[:3])), width=360)
    assert not page.run(visible)
    page.open(written(tmp_path, sample), width=360)
    assert page.run(visible)


def test_screen_readers_get_roles_and_labels(
    tmp_path: Path, page: Page, sample: ValidatedSheet
) -> None:
    page.open(written(tmp_path, sample), width=1200)
    nameless = (
        "[...document.querySelectorAll('select, input')]"
        ".filter((it) => !it.labels[0]?.textContent.trim()).length"
    )
    assert page.run(nameless) == 0
    assert page.run("document.querySelector('table').getAttribute('aria-label')") == sample.sheet
    assert page.run("document.querySelectorAll('th[scope=col]').length") == 7
    heading = "document.querySelector('h2 [role=img]').getAttribute('aria-label')"
    assert page.run(heading) == "with errors"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast(
    tmp_path: Path, page: Page, sample: ValidatedSheet, scheme: str
) -> None:
    page.open(written(tmp_path, sample), width=1200)
    try:
        page.emulate_media(scheme=scheme)
        assert page.run(LEAST_CONTRAST) >= 4.5
    finally:
        page.emulate_media()


LEAST_CONTRAST = """(() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (it) => {
    const colour = it ? getComputedStyle(it).backgroundColor : "rgb(255, 255, 255)";
    return colour === "rgba(0, 0, 0, 0)" ? ground(it.parentElement) : colour;
  };
  const texts = [...document.querySelectorAll("main *")].filter((it) =>
    [...it.childNodes].some((part) => part.nodeType === 3 && part.data.trim()));
  return Math.min(...texts.map((it) => {
    const both = [light(getComputedStyle(it).color), light(ground(it))];
    const [dark, bright] = both.sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  }));
})()"""
"""Lowest contrast of a text with its background, as defined by WCAG."""
