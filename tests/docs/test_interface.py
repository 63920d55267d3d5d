"""The table of the interface is complete, and names existing tests and functions."""

import importlib
import subprocess
import sys

import pytest
from environment import ROOT, unmeasured_environment
from interface_table import Row, rows

ROWS = rows()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.operation.name)
def test_no_cell_is_empty(row: Row) -> None:
    assert all([row.call, row.handler, row.exchanges, row.sandbox_tests, row.client_tests])


def test_the_functions_named_exist() -> None:
    for row in ROWS:
        module, _, name = row.handler.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))


def test_the_tests_named_are_collected(request: pytest.FixtureRequest) -> None:
    named = {test for row in ROWS for test in (*row.sandbox_tests, *row.client_tests)}
    # A run of the whole suite has collected them already.
    missing = named - {item.nodeid for item in request.session.items}
    assert missing - (collected_from(missing) if missing else set()) == set()


def collected_from(tests: set[str]) -> set[str]:
    """Collect all tests in the files of the given tests."""
    files = sorted({test.partition("::")[0] for test in tests})
    collect = ["-m", "pytest", "--collect-only", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, *collect, *files],
        cwd=ROOT,
        env=unmeasured_environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return set(done.stdout.splitlines())
