"""Count the steps of an analyst from a foreign sheet to its last row in the system.

Usage: python benchmarks/analyst_steps.py

One sheet has the headers of another system, documents and names instead of codes, one impossible
date and one inactive client. It is sent in three ways against the embedded sandbox: with headers
and codes typed anew, with a proposed mapping, and with the mapping saved last month. A step is a
command, or a cell or line that a person types.

The exports of ``foreign_exports.py`` are sent by commands, and on the page in Chromium, which must
be on the path; so is a filled-in template that lacks one value. An action on the page is the choice
of the file, a click, a choice in a list, or a typed value. Needs the extra ``dev``.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from foreign_exports import EXPORTS, ForeignExport
from openpyxl import Workbook, load_workbook
from page import running_page
from playwright.sync_api import Page, sync_playwright

Run = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs one command line, in the folder of the sheet."""

_HEADER = ["Filial", "CNPJ/CPF", "Razão Social", "Conta", "Categoria", "CC"]
_HEADER += ["Emissão", "Vencto", "Valor (R$)", "Histórico", "Nº Doc"]
_CLIENTS = {
    "69.879.837/0001-59": ("Pousada Nova Era Ltda", 1311),
    "765.181.887-31": ("Adriana Medeiros Souza", 1197),
    "718.605.611-36": ("Ana Paula Borges Pinheiro", 1429),
    "282.700.329-56": ("Daniel Almeida Borges", 1093),
    "56.528.337/0001-20": ("Supermercado Serra Azul Ltda", 1186),
    "59.645.304/0001-59": ("Boutique Ouro Branco Ltda", 1283),
    "52.463.832/0001-48": ("Confecções Vitória Régia S.A.", 2286),
}
"""Clients of the practice company by document, with their codes; the last one is inactive."""
_ACTIVE = "59.645.304/0001-59"
"""The client to use instead of the inactive one."""
_CENTRES = {"Comercial": "01.001", "Logística": "01.003"}
_RESOURCE_NAMES = {
    "Filial": "codigoDaFilial",
    "CNPJ/CPF": "codigoDoCliente",
    "Conta": "codigoDaContaCorrente",
    "Categoria": "codigoDoItemDeLancamento",
    "CC": "codigoDoCentroDeCusto",
    "Emissão": "dataDeEmissao",
    "Vencto": "dataDeVencimento",
    "Valor (R$)": "valorDoLancamento",
    "Histórico": "historico",
    "Nº Doc": "numeroDoDocumento",
}
_FIRST_ROW, _BAD_DATE, _INACTIVE = 4, 8, 11
_PATIENCE = 180_000
"""Milliseconds that the page may take, as other programs may use the computer."""
_ROWS = 12


def write_house_sheet(path: Path, prefix: str) -> None:
    """Write the foreign sheet; ``prefix`` distinguishes its documents."""
    book = Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Títulos"
    sheet.append(["Relatório de títulos em aberto, outubro de 2026"])
    sheet.append([])
    sheet.append(_HEADER)
    documents = list(_CLIENTS)
    for number in range(_ROWS):
        inactive = number == _INACTIVE - _FIRST_ROW
        document = documents[-1] if inactive else documents[number % 6]
        due: object = date(2026, 11, 5 + number)
        if number == _BAD_DATE - _FIRST_ROW:
            due = "31/11/2026"
        centre = list(_CENTRES)[number % 2]
        title = f"{prefix}-{4001 + number}"
        codes = ["Matriz São Paulo", document, _CLIENTS[document][0], 1, "1.01.001", centre]
        amounts = [date(2026, 10, 1), due, 100.5 + number, f"Mensalidade {title}", title]
        sheet.append([*codes, *amounts])
    book.save(path)


@dataclass
class Story:
    """One way of sending the sheet, with its ``commands`` and ``edits``."""

    run: Run
    folder: Path
    commands: list[str] = field(default_factory=list)
    edits: list[str] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.commands) + len(self.edits)

    def command(self, *arguments: str, code: int = 0) -> str:
        """Run a command that must end with the exit code; return its output."""
        self.commands.append(arguments[0])
        done = self.run(*arguments)
        if done.returncode != code:
            raise RuntimeError(f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def type_cells(self, file: str, cells: Mapping[tuple[int, int], object]) -> None:
        """Type into cells of a workbook; each is an edit."""
        book = load_workbook(self.folder / file)
        for (row, column), value in cells.items():
            book.worksheets[0].cell(row, column, value)
            self.edits.append(f"{file}: {value}")
        book.save(self.folder / file)

    def replace_line(self, file: str, old: str, new: str) -> None:
        """Correct one line of a text file."""
        path = self.folder / file
        text = path.read_text("utf-8")
        if text.count(old) != 1:
            raise RuntimeError(f"{old!r} occurs {text.count(old)} times in {file}:\n{text}")
        path.write_text(text.replace(old, new), "utf-8")
        self.edits.append(f"{file}: {new}")

    def send(self, file: str, client: object, *options: str) -> None:
        """Check with the system, correct the date and the inactive client, send."""
        self.command("validate", file, *options, "--online", code=1)
        self.type_cells(file, {(_BAD_DATE, 8): date(2026, 11, 30), (_INACTIVE, 2): client})
        output = self.command("upload", file, *options, "--yes")
        if f"Rows accepted: {_ROWS} of {_ROWS}" not in output:
            raise RuntimeError(output)


def retype(story: Story) -> None:
    """Type headers, clients, centres and branch anew, without a mapping."""
    write_house_sheet(story.folder / "velho.xlsx", "V")
    story.command("template", "contasreceber")
    columns = {header: number for number, header in enumerate(_HEADER, start=1)}
    story.type_cells("velho.xlsx", {(3, columns[old]): new for old, new in _RESOURCE_NAMES.items()})
    story.command("export", "clientes", "-o", "clientes.csv")
    story.command("export", "centros-custo", "-o", "centros.csv")
    for document, (_, code) in _CLIENTS.items():
        _replace_all(story, "velho.xlsx", document, code)
    for name, centre in _CENTRES.items():
        _replace_all(story, "velho.xlsx", name, centre)
    _replace_all(story, "velho.xlsx", "Matriz São Paulo", 1)
    story.send("velho.xlsx", 1283)


def _replace_all(story: Story, file: str, old: object, new: object) -> None:
    """Replace a value everywhere, as Excel does: one edit."""
    book = load_workbook(story.folder / file)
    for line in book.worksheets[0].iter_rows(min_row=_FIRST_ROW):
        for cell in line:
            if cell.value == old:
                cell.value = new  # type: ignore[assignment]
    book.save(story.folder / file)
    story.edits.append(f"{file}: {old} → {new}")


def propose(story: Story) -> None:
    """Use a proposed mapping."""
    write_house_sheet(story.folder / "novo.xlsx", "N")
    story.command("map", "novo.xlsx", "--resource", "contasreceber", "-o", "titulos.yaml")
    story.send("novo.xlsx", _ACTIVE, "--map", "titulos.yaml")


def reuse(story: Story) -> None:
    """Use last month's mapping."""
    write_house_sheet(story.folder / "outubro.xlsx", "S")
    story.send("outubro.xlsx", _ACTIVE, "--map", "titulos.yaml")


Way = tuple[str, Callable[[Story], None]]
WAYS: Sequence[Way] = (
    ("headers and codes typed anew", retype),
    ("a proposed mapping", propose),
    ("the saved mapping", reuse),
)
"""Ways in their order: the last one uses the mapping of the second."""


def play(run: Run, folder: Path, ways: Sequence[Way] = WAYS) -> dict[str, Story]:
    """Play the ways in one folder; return the stories by name."""
    stories = {}
    for name, way in ways:
        stories[name] = Story(run, folder)
        way(stories[name])
    return stories


def send_by_commands(story: Story, export: ForeignExport, mark: str) -> None:
    """Send an export: propose its mapping, fill it in, check with the system, upload."""
    path = export.write(story.folder, mark)
    mapping = f"{export.resource}-{path.stem}.yaml"
    story.command("map", path.name, "-o", mapping)
    for column, value in export.constants.items():
        is_name = isinstance(value, str) and not any(map(str.isdecimal, value))
        link = f", link: {_REGISTRIES[column]}" if is_name else ""
        typed = f"{column}: {{constant: {json.dumps(value, ensure_ascii=False)}{link}}}"
        story.replace_line(mapping, f"{column}: {{constant: '?'}}", typed)
    for words in export.words.values():
        for word, value in words.items():
            story.replace_line(mapping, f"{word}: '?'", f"{word}: {json.dumps(value)}")
    story.command("validate", path.name, "--map", mapping, "--online")
    output = story.command("upload", path.name, "--map", mapping, "--yes")
    if f"Rows accepted: {export.rows} of {export.rows}" not in output:
        raise RuntimeError(output)


_REGISTRIES = {"codigoDaFilial": "filial", "codigoDoCentroDeCusto": "centrodecusto"}


def send_on_page(tab: Page, folder: Path, export: ForeignExport, mark: str) -> list[str]:
    """Send an export on the page, just opened; return the actions."""
    actions = [f"open {export.file}"]
    tab.set_input_files('[data-testid="drop"]', export.write(folder, mark))
    tab.locator("#choices:enabled").wait_for()
    tab.locator("#map").wait_for()

    def type_value(column: str, value: object, word: str = "") -> None:
        actions.append(f"{column} {word}: {value}")
        of_word = f'[data-word="{word}"]' if word else ":not([data-word])"
        tab.locator(f'#mapping input[data-column="{column}"]{of_word}').fill(str(value))

    for column, words in export.words.items():
        for word, value in words.items():
            type_value(column, value, word)
    for column, value in export.constants.items():
        type_value(column, value)
    for button in ("#map", "#known-send", '[data-testid="send"]'):
        actions.append(f"click {button}")
        tab.locator(button).click()
    _require_sent(tab, export.rows)
    return actions


def fill_template(path: Path) -> None:
    """Fill in two clients, one without a name."""
    book = load_workbook(path)
    sheet = next(one for one in book.worksheets if one.title == "cliente")
    header = [cell.value for cell in sheet[1]]
    for row, name in enumerate(("Mercado Bom Preço", None), start=2):
        for title, value in {"Trade name *": name, "Nature": "J", "Your code": f"T-{row}"}.items():
            sheet.cell(row, header.index(title) + 1, value)
    book.save(path)


def send_template_on_page(tab: Page, path: Path) -> list[str]:
    """Send a filled-in template of clients that lacks a name on the page, just opened; return the
    actions."""
    actions = [f"open {path.name}"]
    tab.set_input_files('[data-testid="drop"]', path)
    tab.locator("#choices:enabled").wait_for()
    for button in ("#to-mend", "#next-error"):
        actions.append(f"click {button}")
        tab.locator(button).click()
    tab.locator("#cell-here.error").wait_for()
    actions.append("type the name")
    tab.keyboard.type("Padaria Estrela")
    tab.keyboard.press("Enter")
    tab.locator("#rules li.quiet").wait_for()  # no findings are left
    for button in ("#to-send", '[data-testid="send"]'):
        actions.append(f"click {button}")
        tab.locator(button).click()
    _require_sent(tab, rows=2)
    return actions


def _require_sent(tab: Page, rows: int) -> None:
    outcome = tab.locator('[data-testid="outcome"]:not([hidden])')
    outcome.wait_for()
    text = outcome.inner_text()
    is_done = outcome.get_attribute("data-state") == "done"
    if not is_done or not re.search(rf"\b{rows} of {rows}\b", text):
        raise RuntimeError(text)


def main() -> None:
    """Print the tables."""
    os.environ["XLBRIDGE_PROFILE"] = "sandbox"
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "XLBRIDGE_HOME": str(Path(folder, "home")),
            "XLBRIDGE_LANG": "en",
        }

        def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
            return subprocess.run(
                [sys.executable, "-m", "xlbridge", *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                check=False,
            )

        print(f"{'':32} commands  edits  steps")
        for name, story in play(run, Path(folder)).items():
            counts = (len(story.commands), len(story.edits), story.steps)
            print(f"{name:32} {counts[0]:8}  {counts[1]:5}  {counts[2]:5}")
        print(f"\n{'':32} commands  edits  actions on the page")
        program = shutil.which("chromium") or shutil.which("google-chrome")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            for number, export in enumerate(EXPORTS):
                # Homes of their own, as later proposals use earlier mappings.
                environment["XLBRIDGE_HOME"] = str(Path(folder, f"home-{number}"))
                story = Story(run, Path(folder))
                send_by_commands(story, export, "1")
                page_home = Path(folder, f"page-{number}")
                page_home.mkdir()
                with running_page(page_home) as (link, _):
                    tab = browser.new_page()
                    tab.set_default_timeout(_PATIENCE)
                    tab.goto(link)
                    actions = send_on_page(tab, Path(folder), export, "1")
                    tab.close()
                counts = (len(story.commands), len(story.edits), len(actions))
                print(f"{export.system:32} {counts[0]:8}  {counts[1]:5}  {counts[2]:7}")
            page_home = Path(folder, "page-template")
            page_home.mkdir()
            run("template", "cliente", "-o", "clientes.xlsx")
            fill_template(Path(folder, "clientes.xlsx"))
            with running_page(page_home) as (link, _):
                tab = browser.new_page()
                tab.goto(link)
                actions = send_template_on_page(tab, Path(folder, "clientes.xlsx"))
            print(f"{'own template, a value missing':32} {'–':>8}  {'–':>5}  {len(actions):7}")
            browser.close()


if __name__ == "__main__":
    main()
