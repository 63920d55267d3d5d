"""Pages written by hand: links are valid, and commands and snippets exist and are read.

Inside: ui.
"""

import ast
import importlib
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from environment import ROOT
from test_texts import SOURCES, texts

from xlbridge.cli.main import root
from xlbridge.i18n import override_language
from xlbridge.resources import load_catalogue
from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.ui.texts import page_texts

HAND_WRITTEN = ("README.md", "README.pt-BR.md", "CONTRIBUTING.md")
PAGES = sorted(
    path
    for path in (*(ROOT / name for name in HAND_WRITTEN), *(ROOT / "docs").rglob("*.md"))
    if path.exists()
)
PORTUGUESE = [path for path in PAGES if path.parent != ROOT and ".pt-BR" in path.name]
LINK = re.compile(r"\]\(([^)\s]+)\)")
SNIPPET = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN_COMMAND = re.compile(r"\$ (?:\w+=\S* )*xlbridge (.*)")
SHOWN_TARGET = re.compile(r"^\$ make (\S+)", re.MULTILINE)
PROSE_COMMAND = re.compile(r"`(xlbridge [^`\n]+)`")
EMPHASIS = re.compile(r"(?<!\*)\*([^*]+)\*(?!\*)")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


def snippets(page: Path, *languages: str) -> Iterator[str]:
    for language, content in SNIPPET.findall(page.read_text(encoding="utf-8")):
        if language in languages:
            yield content


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of every ``xlbridge`` command that a page shows."""
    for content in snippets(page, "console"):
        for line in content.replace("\\\n", " ").splitlines():
            if match := SHOWN_COMMAND.fullmatch(line):
                yield shlex.split(match[1], comments=True)
    for command in PROSE_COMMAND.findall(page.read_text(encoding="utf-8")):
        yield command.split()[1:]


def anchors(page: Path) -> set[str]:
    lines = page.read_text(encoding="utf-8").splitlines()
    titles = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


ELSEWHERE = frozenset({"Add python.exe to PATH", "Code", "Download ZIP"})
"""Labels of other programs in the guides."""


@pytest.mark.parametrize(
    ("name", "language"), [("first-month", "en"), ("first-month.pt-BR", "pt-BR")]
)
def test_the_guide_quotes_the_page_as_it_is(name: str, language: str) -> None:
    guide = " ".join((ROOT / f"docs/how-to/{name}.md").read_text("utf-8").split())
    quoted = {text for text in EMPHASIS.findall(guide) if "](" not in text} - ELSEWHERE
    with override_language(language):
        page = re.sub(r"\{\w+\}", "0", " | ".join(page_texts().values()).casefold())
    assert len(quoted) > 8
    assert {text for text in quoted if text.rstrip("….: ").casefold() not in page} == set()


@each_page
def test_relative_links_lead_to_files_and_headings(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


@each_page
def test_the_commands_shown_exist_with_their_options(page: Path) -> None:
    for shown in commands(page):
        words = shown[: shown.index(">")] if ">" in shown else shown
        context = root.make_context("xlbridge", [], resilient_parsing=True)
        names = [word for word in words if not word.startswith("-") and word not in ("pt-BR", "en")]
        command = root.get_command(context, names[0]) if names else root
        if isinstance(command, click.Group) and names[1:]:
            command = command.get_command(context, names[1])
        assert command is not None, words
        known = {
            option
            for owner in (root, command)
            for parameter in owner.get_params(context)
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        used = {word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-z][\w-]*", word)}
        assert used <= known, words


@each_page
def test_the_python_snippets_import_what_exists(page: Path) -> None:
    for content in snippets(page, "python"):
        for node in ast.walk(ast.parse(content)):
            if isinstance(node, ast.ImportFrom) and node.module:
                module = importlib.import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names), content


@each_page
def test_the_make_targets_shown_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for content in snippets(page, "console"):
        for target in SHOWN_TARGET.findall(content):
            assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target


@each_page
def test_the_json_shown_is_json(page: Path) -> None:
    for content in snippets(page, "json"):
        assert json.loads(content)


@pytest.mark.programs
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("name", ["schedules", "schedules.pt-BR"])
def test_systemd_accepts_the_units_shown(name: str, tmp_path: Path) -> None:
    units = snippets(ROOT / "docs" / "how-to" / f"{name}.md", "ini")
    paths = [tmp_path / f"xlbridge-month.{kind}" for kind in ("service", "timer")]
    for path, unit in zip(paths, units, strict=True):
        program = re.sub(r"^(ExecStart=)\S+", r"\1/bin/true", unit, flags=re.MULTILINE)
        path.write_text(program, encoding="utf-8")
    verified = subprocess.run(
        ["systemd-analyze", "verify", *paths], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")


@pytest.mark.parametrize(("name", "language"), [("", "en"), (".pt-BR", "pt-BR")])
def test_the_messages_explained_exist(name: str, language: str) -> None:
    page = (ROOT / "docs" / f"troubleshooting{name}.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| \*([^*]+)\* \|", page, re.MULTILINE)
    messages = [text[1 if language == "pt-BR" else 2] for path in SOURCES for text in texts(path)]
    known = " | ".join(re.sub(r"\{[^}]*\}", "…", message) for message in messages)
    assert len(explained) > 15
    assert [message for message in explained if message not in known] == []


def test_the_schema_file_shown_is_a_resource(tmp_path: Path) -> None:
    page = ROOT / "docs" / "how-to" / "own-resource.md"
    (shown,) = snippets(page, "yaml")
    path = tmp_path / "centro-de-custo.yaml"
    path.write_text(shown, encoding="utf-8")
    assert load_catalogue(tmp_path)["centro-de-custo"].required == ("codigo", "descricao")


def test_page_on_custom_resources_names_every_rule() -> None:
    page = (ROOT / "docs" / "how-to" / "own-resource.md").read_text(encoding="utf-8")
    assert [name for name in (*RULES, *ROW_RULES) if f"`{name}`" not in page] == []


def options(page: Path) -> list[list[str]]:
    """Return the commands that a page shows, without files and names, in alphabetical order."""
    return sorted(
        [word for word in (shown[0], *shown) if word is shown[0] or word.startswith("--")]
        for shown in commands(page)
        if shown
    )


@pytest.mark.parametrize("page", PORTUGUESE, ids=lambda path: str(path.relative_to(ROOT)))
def test_both_languages_of_a_page_have_the_same_parts(page: Path) -> None:
    """Headings, commands, tables, figures, and the content of snippets without words for people.
    Prose may name commands in another order."""
    english = page.with_name(page.name.replace(".pt-BR", ""))
    parts = []
    for path in (page, english):
        text = path.read_text(encoding="utf-8")
        prose = re.sub(r"\]\(\S*\)", "", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
        parts.append(
            {
                "headings": re.findall(r"^#+ ", prose, re.MULTILINE),
                "rows": prose.count("\n|"),
                "numbers": sorted(re.findall(r"\d+", prose)),
                "commands": options(path),
                "snippets": [language for language, _ in SNIPPET.findall(text)],
                "code": list(snippets(path, "python", "py", "toml", "bash")),
            }
        )
    assert parts[0] == parts[1]


@pytest.mark.parametrize("page", PORTUGUESE, ids=lambda path: str(path.relative_to(ROOT)))
def test_both_languages_of_a_page_lead_to_each_other(page: Path) -> None:
    """The site's hook takes the first line away: it has a switch of its own."""
    english = page.with_name(page.name.replace(".pt-BR", ""))
    portuguese_lines, english_lines = (
        path.read_text(encoding="utf-8").splitlines() for path in (page, english)
    )
    assert portuguese_lines[2] == f"*[In English]({english.name})*"
    assert english_lines[2] == f"*[Em português]({page.name})*"
    others = "\n".join(portuguese_lines[3:])
    for target in (link.partition("#")[0] for link in LINK.findall(others)):
        if target.endswith(".md") and not target.endswith(".pt-BR.md") and "://" not in target:
            translated = page.parent / target.replace(".md", ".pt-BR.md")
            assert not translated.exists(), f"{target} exists in Portuguese"
    assert ".pt-BR.md" not in "\n".join(english_lines[3:])


@each_page
def test_commands_work_in_powershell_5(page: Path) -> None:
    """It splits at commas and takes @name for a variable, unless the word is quoted."""
    for content in snippets(page, "console", "powershell"):
        for line in content.splitlines():
            if line.startswith("$ xlbridge"):
                bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", line)
                assert not re.search(r" \S*[^\s…],[^\s…]|[ =]@", bare), line
