"""Modules and names mentioned on the pages exist."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from environment import ROOT

IN_BACKTICKS = re.compile(r"`([^`\n]+)`")
MODULE = re.compile(r"[\w/]+\.py")
NAME = re.compile(r"_*[A-Za-z]\w+")
PAGES = sorted(
    path for path in (ROOT / "docs").rglob("*.md") if path.parent != (ROOT / "docs" / "reference")
)


FOLDERS = ("xlbridge", "tests", "benchmarks", "samples", "docs", "packaging")


@cache
def all_modules() -> dict[str, Path]:
    """Return all modules by their paths from the root."""
    found = (path for name in FOLDERS for path in (ROOT / name).rglob("*.py"))
    return {f"/{path.relative_to(ROOT).as_posix()}": path for path in found}


def modules(named: str) -> list[Path]:
    """Return the modules with a file name, or with the end of a path."""
    return [path for place, path in all_modules().items() if place.endswith(f"/{named}")]


@cache
def words_of(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", path.read_text(encoding="utf-8")))


def names_by_module(line: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each module mentioned in a line, with the names that follow it."""
    module, names = "", list[str]()
    for word in IN_BACKTICKS.findall(line):
        if MODULE.fullmatch(word):
            yield module, names
            module, names = word, []
        elif NAME.fullmatch(word):
            names.append(word)
    yield module, names


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_modules_named_exist(page: Path) -> None:
    named = IN_BACKTICKS.findall(page.read_text(encoding="utf-8"))
    assert [word for word in named if MODULE.fullmatch(word) and not modules(word)] == []


def test_assumptions_name_existing_code() -> None:
    page = (ROOT / "docs" / "assumptions.md").read_text(encoding="utf-8")
    places = [line.rstrip("| ").rpartition(" | ")[2] for line in page.splitlines()]
    held = [pair for place in places for pair in names_by_module(place) if pair[0]]
    assert len(held) > 100
    for module, names in held:
        words = frozenset().union(*map(words_of, modules(module)))
        assert set(names) <= words, module


def test_each_promise_of_the_threat_model_has_a_test() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = page.partition("|---|---|---|---|\n")[2].partition("\n\n")[0].splitlines()
    assert len(rows) > 10
    for row in rows:
        named = [ROOT / word for word in IN_BACKTICKS.findall(row) if word.startswith("tests/")]
        assert named, row
        assert all(path.is_file() for path in named), row
