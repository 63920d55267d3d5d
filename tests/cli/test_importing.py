"""Garbage collection skips imported modules, and nothing else."""

import gc
import importlib
from pathlib import Path

import pytest

from xlbridge.processes import heavy_imports


def _is_collected(thing: object) -> bool:
    return any(tracked is thing for tracked in gc.get_objects())


def test_the_collector_does_not_visit_imported_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_for_this_test.py").write_text("kept = [[]]\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with heavy_imports():
        module = importlib.import_module("imported_for_this_test")
        assert not gc.isenabled()
    assert gc.isenabled()
    assert not _is_collected(module.kept)


def test_the_collector_visits_other_objects_after_imports() -> None:
    made: list[object] = [[]]
    with heavy_imports():
        importlib.import_module("pathlib")
    assert _is_collected(made)
