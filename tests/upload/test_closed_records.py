"""Rows of settled, closed or cancelled records do not become new, open ones unless on purpose."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge, credentials

from xlbridge.sandbox import RunningSandbox

LISTINGS = {
    "contaspagar-baixados": "Data da baixa",
    "requisicoes-encerradas": "Encerrada",
    "ordens-encerradas": "Encerrada",
    "pedidos-compra-encerrados": "Encerrado",
}
"""Listings of closed records, with the title of what says so."""

Plan = Callable[..., dict[str, Any]]


@pytest.fixture
def plan(xlbridge: Xlbridge) -> Plan:
    """Function that plans an upload in a system, which nobody confirms."""

    def plan(system: RunningSandbox, *arguments: object) -> dict[str, Any]:
        words = ("--format", "json", *arguments)
        done = xlbridge("upload", *words, **credentials(system, XLBRIDGE_LANG="pt-BR"))
        assert done.stdout, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    return plan


@pytest.mark.parametrize("form", ["xlsx", "csv"])
@pytest.mark.parametrize(("listing", "title"), LISTINGS.items())
def test_closed_records_do_not_become_open_ones_elsewhere(
    demo_sandbox: RunningSandbox,
    empty_sandbox: RunningSandbox,
    xlbridge: Xlbridge,
    plan: Plan,
    tmp_path: Path,
    listing: str,
    title: str,
    form: str,
) -> None:
    path = tmp_path / f"plain.{form}"
    language = credentials(demo_sandbox, XLBRIDGE_LANG="pt-BR")
    done = xlbridge("export", listing, "-o", path, **language)
    assert done.returncode == 0, done.stderr
    report = plan(empty_sandbox, path, "--foreign-numbers")
    rows = report["rows"]["read"]
    assert rows > 0
    assert (report["plan"]["held"], report["plan"]["create"]) == (rows, 0)
    assert {row["reason"] for row in report["not_created"]} == {"was-closed"}
    assert f"({title}" in report["not_created"][0]["message"]
    # On purpose they are.
    report = plan(empty_sandbox, path, "--foreign-numbers", "--again", "Títulos reabertos")
    assert report["plan"]["held"] == 0
