"""What the page shows names what the page has: no option, command or settings file of a terminal.

Inside: ui.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import click
import pytest

import xlbridge
from xlbridge.cli.main import root
from xlbridge.i18n import Text, override_language, shown_on_page
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import FindingKind
from xlbridge.ui.row_remarks import PAGE_HINTS
from xlbridge.ui.texts import page_texts

PACKAGE = Path(xlbridge.__file__).parent
COMMANDS = "|".join(root.list_commands(click.Context(root)))
OF_TERMINAL = re.compile(
    rf"(?<![\w-])--[a-z{{]|\bxlbridge ({COMMANDS})\b|XLBRIDGE_[A-Z]|\.(toml|ya?ml)\b|\bterminal\b"
)
NOT_SHOWN = {
    "batch/rehearsal_report.py": "the page rehearses no batch",
    "cli": "commands",
    "client/diagnosis.py": "the command doctor",
    "export/export.py": "options that the page does not offer",
    "export/formats": "options that the page does not offer",
    "export/layout.py": "options that the page does not offer; it tries import sheets first",
    "export/refresh.py": "refreshing a workbook is a command",
    "library": "Python",
    "parallel/executors.py": "the page uses no cluster",
    "resources/links.py": "an option that the page does not offer",
    "sandbox": "the command sandbox",
    "upload/process_kinds.py": "the page reads no sheet of numbers",
    "validation/edited_copies.py": "the command validate",
    "validation/report.py": "the command validate; the page has its own lists",
    "validation/report_formats.py": "the command validate; the page has its own lists",
    "workbook/signature.py": "the page overwrites no file",
}
"""Rooms and modules whose texts the page never shows, and why."""
NOT_ON_SCREEN = {
    ("batch/report.py", "Next:"): "next steps; the page has buttons",
    ("errors.py", "the port is in use"): "before there is a page",
    ("parallel/validation.py", "--workers and"): "the page chooses no executor",
    ("serving.py", "Use another port"): "before there is a page",
    ("settings.py", "XLBRIDGE_"): "before there is a page",
    ("ui/server.py", "Try another port"): "before there is a page",
    ("upload/process_plan.py", "Choose the sheet"): "the page reads no sheet of numbers",
    ("upload/results/report.py", "Next: "): "next steps; the page has buttons",
    ("upload/uploads.py", "--delete"): "an option that the page does not offer",
    (
        "validation/mapping/application.py",
        "Use --map alone",
    ): "options that the page does not offer",
}
"""Texts of other modules that the page never shows, by their beginning or a word, and why."""


@cache
def declared() -> list[tuple[str, Text]]:
    """Return the texts that the package declares, each with its module."""
    modules = {
        path.relative_to(PACKAGE).as_posix(): ast.parse(source)
        for path in sorted(PACKAGE.rglob("*.py"))
        if "Text(" in (source := path.read_text("utf-8"))
    }
    named = {
        node.targets[0].id: node.value
        for module in modules.values()
        for node in module.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
    }
    return [
        (name, text)
        for name, module in modules.items()
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Text"
        if (text := text_of(node, named)) is not None
    ]


def text_of(call: ast.Call, named: Mapping[str, ast.Call]) -> Text | None:
    """Return the text that a call declares, None if a part of it is computed.

    Several messages share one text of the page by the name of a constant.
    """
    parts = {one.arg: one.value for one in call.keywords}
    pt, en = (getattr(parts.get(name), "value", None) for name in ("pt", "en"))
    page = parts.get("page")
    if isinstance(page, ast.Name):
        page = named.get(page.id)
    if not isinstance(pt, str) or not isinstance(en, str):
        return None
    return Text(pt, en, page=text_of(page, named) if isinstance(page, ast.Call) else None)


def is_shown(module: str, text: Text) -> bool:
    return not any(
        module == room or module.startswith(f"{room}/") for room in NOT_SHOWN
    ) and not any(module == one and word in text.en for one, word in NOT_ON_SCREEN)


def in_both_languages(text: Text) -> Iterator[str]:
    with shown_on_page():
        for language in ("pt-BR", "en"):
            with override_language(language):
                yield str(text)


def test_no_text_that_the_page_shows_names_the_terminal() -> None:
    shown = [(module, text) for module, text in declared() if is_shown(module, text)]
    assert sum(text.page is not None for _, text in shown) > 100
    wrong = [
        (module, said)
        for module, text in shown
        for said in in_both_languages(text)
        if OF_TERMINAL.search(said)
    ]
    assert wrong == []


def test_each_exception_is_needed() -> None:
    named = [
        (module, text)
        for module, text in declared()
        if any(map(OF_TERMINAL.search, in_both_languages(text)))
    ]
    assert [
        room
        for room in NOT_SHOWN
        if not any(f"{module}/".startswith(f"{room}/") for module, _ in named)
    ] == []
    assert [
        one for one in NOT_ON_SCREEN if not any(one[0] == m and one[1] in t.en for m, t in named)
    ] == []


@pytest.mark.parametrize("kind", CATALOGUE.values(), ids=lambda kind: kind.code)
def test_findings_on_the_page_do_not_name_the_terminal(kind: FindingKind) -> None:
    for text in (kind.message, PAGE_HINTS.get(kind.code, kind.hint)):
        assert [said for said in in_both_languages(text) if OF_TERMINAL.search(said)] == []


def test_what_texts_of_the_page_quote_is_on_the_page() -> None:
    screens = set[str]()
    for language in ("pt-BR", "en"):
        with override_language(language):
            screens |= set(page_texts().values())
    quoted = {
        name
        for _, text in declared()
        if text.page is not None
        for said in (text.page.pt, text.page.en)
        for name in re.findall("“([^{}”]+)”", said)
    }
    assert "Testar o acesso" in quoted
    assert sorted(n for n in quoted if not any(screen.startswith(n) for screen in screens)) == []
