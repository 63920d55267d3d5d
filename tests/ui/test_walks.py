"""Whole walks of an analyst by a real browser: in both languages, in wide and narrow windows, light
and dark; every screen is checked by axe-core and fits the window, and one walk of each is by
keyboard alone.

``--pictures FOLDER`` keeps a picture of each screen.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from browser import Page
from environment import clean_environment, credentials
from foreign_exports import EXPORTS
from forked import Zygote
from playwright.sync_api import Locator, Page as Tab, expect
from running_page import RunningPage, running_page
from sheets import GOOD, write_records, write_workbook
from test_accessibility import violations

from xlbridge.sandbox import RunningSandbox

pytestmark = [pytest.mark.programs, pytest.mark.slow]

LANGUAGES = ("pt-BR", "en")
WIDTHS = (1280, 1920, 390)
BY_KEYBOARD = ("pt-BR", 1280)
NO_ERRORS = re.compile("(erros|errors): 0 ")
_MAX_KEYS = 200
_IS_BEFORE = "one => (document.activeElement.compareDocumentPosition(one) & 2) === 2"
_HAS_FOCUS = "one => one === document.activeElement"
_TEXTS = "() => JSON.parse(document.getElementById('page-data').textContent).texts"
_OVERHANG = "() => document.documentElement.scrollWidth - window.innerWidth"


class Walk:
    """A walk in one language and width, by mouse or by keyboard alone; ``found`` is what is wrong
    with its screens."""

    def __init__(self, tab: Tab, name: str, pictures: Path | None, *, by_keyboard: bool) -> None:
        self.tab = tab
        self.name = name
        self.texts: dict[str, str] = tab.evaluate(_TEXTS)
        self.found: list[Any] = []
        self._pictures = pictures
        self._by_keyboard = by_keyboard
        self._seen = 0

    def see(self, screen: str) -> None:
        """Check a screen in both themes, and keep its pictures."""
        self._seen += 1
        if (overhang := self.tab.evaluate(_OVERHANG)) > 0:
            self.found.append((screen, f"wider than the window by {overhang} pixels"))
        self.found += violations(self.tab, screen, self._take)

    def _take(self, screen: str, scheme: str) -> None:
        if self._pictures is not None:
            file = f"{self.name}-{self._seen:02}-{screen}-{scheme}.png"
            self.tab.screenshot(path=self._pictures / file, full_page=True)

    def at(self, target: str | Locator) -> Locator:
        """Return an element by its selector."""
        return self.tab.locator(target) if isinstance(target, str) else target

    def named(self, name: str, **values: object) -> Locator:
        """Return the button or link with one of the page's texts."""
        text = self.texts[name].format(**values)
        return self.tab.locator("button:visible, a:visible", has_text=text).first

    def press(self, target: str | Locator) -> None:
        """Press a button, link, checkbox or summary."""
        wanted = self.at(target)
        if not self._by_keyboard:
            wanted.click()
            return
        self.reach(wanted)
        is_box = wanted.get_attribute("type") == "checkbox"
        self.tab.keyboard.press("Space" if is_box else "Enter")

    def open_all(self, part: str) -> None:
        """Unfold whatever is folded in a part of the page."""
        folded = self.at(f"#{part} details:not([open]) > summary:visible")
        while folded.count():
            self.press(folded.first)

    def write(self, target: str | Locator, text: str) -> None:
        """Type a text into a field."""
        wanted = self.at(target)
        if not self._by_keyboard:
            wanted.fill(text)
            return
        self.reach(wanted)
        self.tab.keyboard.press("Control+A")
        self.tab.keyboard.insert_text(text)

    def write_cell(self, text: str) -> None:
        """Go to the next error of the grid, and type a text there."""
        self.tab.keyboard.press("F8") if self._by_keyboard else self.press("#next-error")
        expect(self.at("#cell-here")).to_have_attribute("aria-invalid", "true")
        expect(self.at("#grid textarea")).to_be_focused()
        self.tab.keyboard.insert_text(text)
        self.tab.keyboard.press("Enter")

    def open(self, path: Path) -> None:
        """Open a file, and wait until the page has recognised it."""
        if self._by_keyboard:
            self.reach(self.at("input[type=file]"))
            with self.tab.expect_file_chooser() as chooser:
                self.tab.keyboard.press("Enter")
            chooser.value.set_files(path)
        else:
            self.tab.set_input_files('[data-testid="drop"]', path)
        self.at("#file-name").get_by_text(path.name).wait_for()
        self.at("#choices:enabled").wait_for()

    def show(self, view: str) -> None:
        """Go to a view of the menu."""
        self.press(f"[data-view={view}]")

    def reach(self, wanted: Locator) -> None:
        """Press Tab until an element has the focus; out of the grid by Escape."""
        wanted.wait_for(state="attached")
        expect(wanted).to_be_enabled()
        for _ in range(_MAX_KEYS):
            if wanted.evaluate(_HAS_FOCUS):
                return
            if self.at("#grid textarea:focus").count():
                self.tab.keyboard.press("Escape")
            self.tab.keyboard.press("Shift+Tab" if wanted.evaluate(_IS_BEFORE) else "Tab")
        raise AssertionError(f"{wanted} is not reached by keyboard")

    def send_seen(self, state: str) -> None:
        """See the plan, confirm it, and see its outcome, which must have a state."""
        self.at('[data-testid="send"]:visible').wait_for()
        self.see("plan")
        assert self.send() == state
        self.see("outcome")

    def send(self) -> str:
        """Confirm the plan that is shown; return the state of the outcome."""
        self.press('[data-testid="send"]:visible')
        shown = self.at('[data-testid="outcome"]:not([hidden])')
        shown.wait_for()
        return shown.get_attribute("data-state") or ""


def walk_foreign_receivables(walk: Walk, folder: Path) -> None:
    export = EXPORTS[0]
    walk.see("first")
    walk.open(export.write(folder, "W"))
    walk.at("#mapping[open] select").first.wait_for()
    walk.see("columns")
    walk.press("#map")
    walk.at(".field-problem").first.wait_for()
    walk.see("not-confirmed")
    for column, words in export.words.items():
        for word, value in words.items():
            walk.write(f'#mapping input[data-column="{column}"][data-word="{word}"]', str(value))
    for column, constant in export.constants.items():
        walk.write(f'#mapping input[data-column="{column}"]:not([data-word])', str(constant))
    walk.press("#map")
    walk.at("#known-send:visible").wait_for()
    walk.see("known")
    walk.press("#known-send")
    walk.send_seen("done")


def walk_own_template(walk: Walk, folder: Path) -> None:
    records: list[dict[str, Any]] = []
    for number in range(20):
        record = {**GOOD["contasreceber"], "numeroDoDocumento": f"WALK-{number:02}"}
        wrong: dict[str, Any] = [
            {"codigoDaContaCorrente": "um"},
            {"codigoDoItemDeLancamento": " 1.01.001"},
            {"dataDeVencimento": "31/11/2026"},
            {"codigoDoCliente": None},
            {"valorDoLancamento": "10,5"},
        ][number % 5]
        records.append({**record, "historico": f"Mensalidade {number}", **wrong})
    path = write_records(folder / "receber.xlsx", "contasreceber", records)
    walk.open(path)
    walk.see("known")
    walk.press("#to-mend")
    walk.at("#grid .error").first.wait_for()
    walk.see("grid")
    while walk.at('[data-testid="fix-all"]:visible').count():
        count = walk.at("#counts").inner_text()
        walk.press(walk.at('[data-testid="fix-all"]').first)
        walk.at("#fixes[open] td").first.wait_for()
        walk.see("fixes")
        walk.press("#fixes-do")
        expect(walk.at("#counts")).not_to_have_text(count)
    right = {"31/11/2026": "30/11/2026", walk.texts["empty_cell"]: "1001", "um": "1"}
    rules = walk.at("#rules li")
    for count in (3, 2, 1):
        expect(rules).to_have_count(count)
        walk.press(rules.first.get_by_role("button", name=walk.texts["replace_values"]))
        walk.at("#values[open] input").first.wait_for()
        walk.see("values")
        before = walk.at("#values tr:nth-child(2) td").first.inner_text()
        walk.write(walk.at("#values input").first, right.pop(before))
        walk.press(walk.at("#values td button").first)
    walk.at("#counts").get_by_text(NO_ERRORS).wait_for()
    walk.press("#cell-open")
    walk.at("#cell-menu:popover-open").wait_for()
    walk.see("menu")
    walk.tab.keyboard.press("Escape")
    walk.press("#to-send")
    walk.send_seen("done")


def walk_orders(walk: Walk, folder: Path) -> None:
    order = {"codigoDaFilial": 1, "codigoDoCliente": 1001}
    products = [
        {"chave": key, "idProduto": product, "quantidade": 2, "valorUnitario": 10.5}
        for key, product in (("A", 2001), ("A", 2002), ("B", 99999999))
    ]
    products[1]["quantidade"] = "duas"
    orders = [{"chave": "A", **order}, {"chave": "B", **order, "codigoDoCliente": None}]
    path = write_workbook(folder / "pedidos.xlsx", pedido=orders, produtos=products)
    walk.open(path)
    walk.press("#to-mend")
    walk.write_cell("1001")
    expect(walk.at("#part option").first).to_have_text("pedido · 0")
    walk.reach(walk.at("#part"))
    walk.tab.keyboard.press("ArrowDown")
    walk.at('#grid [data-cell="C3"].error').wait_for()
    walk.see("items")
    walk.write_cell("2")
    walk.at("#counts").get_by_text(": 0").first.wait_for()
    walk.press("#to-send")
    walk.send_seen("partial")
    walk.press(walk.named("to_refused"))
    walk.at("#grid .refused").first.wait_for()
    walk.see("refused")
    walk.write_cell("2001")
    walk.at("#counts").get_by_text(": 0").first.wait_for()
    walk.press("#to-send")
    assert walk.send() == "done"


def walk_month(walk: Walk, folder: Path) -> None:
    month = folder / "Mês 2026-11"
    month.mkdir()
    clients: list[dict[str, Any]] = [{"cnpj": None, "seuCodigo": f"W-{n}"} for n in range(2)]
    clients[1]["nomeComercial"] = None
    write_records(month / "clientes.xlsx", "cliente", clients)
    titles = [
        {"valorDoLancamento": amount, "dataDeVencimento": day, "numeroDoDocumento": f"W-{amount}"}
        for amount, day in ((1000.1, date(2027, 2, 10)), (0.2, date(2027, 1, 10)))
    ]
    write_records(month / "titulos.xlsx", "contasreceber", titles)
    (month / "lista.csv").write_text("Cor;Peso\nazul;1\n", encoding="utf-8")
    walk.show("batches")
    walk.at("#begin-batch[open]").wait_for()
    walk.see("batches")
    walk.write("#folder-path", str(month))
    walk.press("#folder-open")
    walk.press(walk.named("plan_from_folder"))
    walk.named("plan_make").wait_for()
    walk.see("new-plan")
    walk.press(walk.named("plan_make"))
    correct = walk.named("correct_unit", n=1)
    correct.wait_for()
    walk.see("checked")
    walk.press(correct)
    walk.at("#grid .error").wait_for()
    walk.see("unit")
    walk.write_cell("Padaria do mês")
    walk.at("#counts").get_by_text(NO_ERRORS).wait_for()
    walk.press("#unit-replace")
    walk.at("#batch-message:not(:empty)").wait_for()
    walk.see("replaced")
    walk.press(walk.named("run_batch"))
    walk.at('#batch-asked [data-testid="send"]').wait_for()
    walk.see("asked")
    walk.press('#batch-asked [data-testid="send"]')
    walk.named("proof_html").wait_for(timeout=60_000)
    walk.see("finished")
    walk.open_all("batch-list")
    walk.at("#batch-list figure").nth(3).wait_for()
    walk.see("totals")
    walk.press(walk.named("prove_batch"))
    expect(walk.at("#batch-cancel")).to_be_hidden()
    expect(walk.named("prove_batch")).to_be_enabled()
    walk.see("proven")


def walk_update(walk: Walk, folder: Path) -> None:
    for price in (2, 3):
        record = {"codigoInterno": f"WALK-{walk.name}", "valorUnitario": price}
        walk.show("begin")
        walk.open(write_records(folder / f"produtos-{price}.xlsx", "produto", [record]))
        walk.press("#known-send")
        walk.at("#plan-shown:visible").wait_for()
        if price == 3:  # the record exists with another value
            walk.see("held")
            walk.press(walk.at("#plan-shown .decide button").last)
            walk.at("#plan-shown [data-action=update]").wait_for()
            walk.see("plan")
        assert walk.send() == "done"
    walk.see("outcome")
    walk.show("jobs")
    walk.see("jobs")
    walk.press(walk.at("[data-testid=jobs] button").first)
    walk.named("undo_upload").wait_for()
    walk.see("details")
    walk.press(walk.named("undo_upload"))
    walk.at("#undo-plan .figures").wait_for()
    walk.see("undo")
    assert walk.send() == "done"
    walk.see("undone")
    walk.show("exports")
    walk.press("#export")
    walk.at("#preview td").first.wait_for()
    walk.see("exports")
    for view in ("process", "profiles"):
        walk.show(view)
        walk.open_all(view)
        walk.press("#help-button")
        walk.see(view)
        walk.press("#help-button")


WALKS: tuple[Callable[[Walk, Path], None], ...] = (
    walk_foreign_receivables,
    walk_own_template,
    walk_orders,
    walk_month,
    walk_update,
)


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """The system to which the page sends: a company with clients, suppliers and products."""
    return demo_sandbox


@pytest.fixture
def ui(
    tmp_path: Path,
    home: Path,
    forks: Zygote,
    system: RunningSandbox,
    request: pytest.FixtureRequest,
) -> Iterator[RunningPage]:
    language = request.node.callspec.params["language"]
    environment = clean_environment(home, **credentials(system, XLBRIDGE_LANG=language))
    with running_page(forks, tmp_path, home, environment) as page:
        yield page


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("steps", WALKS, ids=lambda it: it.__name__)
def test_an_analyst_walks_from_a_file_to_its_end(
    page: Page,
    ui: RunningPage,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    steps: Callable[[Walk, Path], None],
    language: str,
    width: int,
) -> None:
    folder = request.config.getoption("--pictures")
    pictures = None if folder is None else Path(folder)
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
    tab = page.tab
    # A listener from the start: Chromium cancels a dialog opened before Playwright intercepts it.
    tab.on("filechooser", lambda _: None)
    tab.set_default_timeout(60_000)
    tab.set_viewport_size({"width": width, "height": 800 if width > 390 else 844})
    tab.goto(ui.link)
    name = f"{steps.__name__.removeprefix('walk_')}-{language}-{width}"
    walk = Walk(tab, name, pictures, by_keyboard=(language, width) == BY_KEYBOARD)
    steps(walk, tmp_path)
    assert walk.found == [], "\n".join(map(str, walk.found))
