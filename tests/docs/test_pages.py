"""The pages written by hand: their links lead somewhere, their commands and imports exist."""

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from environment import ROOT

from xlbridge.cli.main import root

HAND_WRITTEN = ("README.md", "README.pt-BR.md", "CONTRIBUTING.md")
PAGES = sorted(
    path
    for path in (*(ROOT / name for name in HAND_WRITTEN), *(ROOT / "docs").rglob("*.md"))
    if path.exists()
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SNIPPET = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROSE_COMMAND = re.compile(r"`(xlbridge [^`\n]+)`")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


def snippets(page: Path, *languages: str) -> Iterator[str]:
    for language, content in SNIPPET.findall(page.read_text(encoding="utf-8")):
        if language in languages:
            yield content


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of every ``xlbridge`` command that a page shows."""
    for content in snippets(page, "console"):
        for line in content.replace("\\\n", " ").splitlines():
            before, shown, words = line.partition("xlbridge ")
            if shown and before.endswith("$ "):
                yield shlex.split(words, comments=True)
    for command in PROSE_COMMAND.findall(page.read_text(encoding="utf-8")):
        yield command.split()[1:]


def anchors(page: Path) -> set[str]:
    lines = page.read_text(encoding="utf-8").splitlines()
    titles = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


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
    for words in commands(page):
        context = click.Context(root)
        names = [word for word in words if not word.startswith("-") and word not in ("pt-BR", "en")]
        command = root.get_command(context, names[0]) if names else root
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


def test_the_analyst_guide_is_kept_in_step() -> None:
    english, portuguese = (
        ROOT / "docs" / "how-to" / name for name in ("analyst.md", "analyst.pt-BR.md")
    )
    assert list(commands(english)) == list(commands(portuguese))
    assert sum(line.startswith("#") for line in english.read_text("utf-8").splitlines()) == sum(
        line.startswith("#") for line in portuguese.read_text("utf-8").splitlines()
    )
