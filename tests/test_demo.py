"""``make demo`` tells its story to the end and leaves workbooks that can be opened."""

import subprocess
import sys

from environment import ROOT, clean_environment
from openpyxl import load_workbook


def test_the_story_ends_well() -> None:
    out = ROOT / "out"
    done = subprocess.run(
        [sys.executable, ROOT / "samples" / "demo.py"],
        env=clean_environment(out / "home"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "B8  codigoDoCliente: Cliente 1032 está inativo." in done.stdout
    assert "Rejected: the row that was sent was not written; unchanged: 23." in done.stdout
    orders = load_workbook(out / "pedidos.xlsx", read_only=True)
    assert orders.sheetnames == ["Export cover", "pedidos", "parcelas", "produtos"]
    orders.close()
    rejects = list(out.glob("contasreceber-corrigida-rejeitadas-*.xlsx"))
    # One of the first upload, one of the second, which tried the rejected row again.
    assert len(rejects) == 2
