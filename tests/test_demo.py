"""``make demo`` runs to its end and leaves workbooks that can be opened."""

import subprocess

import demo
import in_process
import pytest
from environment import ROOT, clean_environment, credentials
from openpyxl import load_workbook
from sandboxes import sandbox_process


def test_demo_completes(capsys: pytest.CaptureFixture[str]) -> None:
    """Commands run in this process; ``make demo`` itself starts the program each time."""

    def run(
        environment: dict[str, str], words: list[str], *, shown: bool
    ) -> "subprocess.CompletedProcess[str]":
        done = in_process.run_command(ROOT, environment, words)
        print(*([done.stdout, done.stderr] if shown else []))
        return done

    demo.clear_out()
    home = demo.OUT / "home"
    with sandbox_process(home, [], clean_environment(home)) as sandbox:
        demo.story(clean_environment(home, **credentials(sandbox)), run)
    output = capsys.readouterr().out
    assert "B8  Código do cliente: Cliente 1032 está inativo." in output
    assert "Rejected: the row that was sent was not written; unchanged: 23." in output
    orders = load_workbook(demo.OUT / "pedidos.xlsx", read_only=True)
    assert orders.sheetnames == ["Export cover", "pedidos", "parcelas", "produtos"]
    orders.close()
    rejects = list(demo.OUT.glob("contasreceber-corrigida-rejected-*.xlsx"))
    # One of the first upload, one of the second, which tried the rejected row again.
    assert len(rejects) == 2
