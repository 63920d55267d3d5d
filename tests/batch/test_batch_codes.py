"""Codes that a batch fills in once other steps or the system have them; unknown codes."""

from pathlib import Path

import pytest
from batch_parts import PLAN, RunBatch, WritePlan, report, states, write_clients, write_payables
from databases import database_options
from environment import Xlbridge, clean_environment, credentials
from sandboxes import sandbox_process
from sheets import GOOD, write_rows
from upload_parts import new_cnpj

from xlbridge.sandbox import RunningSandbox

LINKED = """\
name: linked
steps:
  titles:
    upload: titles.xlsx
    resource: contasreceber
    links: {codigoDoCliente: cnpj}
  clients:
    upload: clients.xlsx
    resource: cliente
"""

MOST_IN_A_MINUTE = 500
"""Maximum number of clients with the same update time that the listing can return."""


@pytest.mark.slow
def test_codes_are_found_if_the_listing_cannot_be_complete(
    xlbridge: Xlbridge, write_plan: WritePlan, tmp_path: Path
) -> None:
    # Of its own: whoever lists so many clients later finds the hole, too.
    server = tmp_path / "server"
    options = ["--seed", "empty", *database_options(server)]
    plan = write_plan(LINKED)
    documents = [new_cnpj() for _ in range(MOST_IN_A_MINUTE + 20)]
    write_clients(tmp_path, "clients.xlsx", documents)
    row = GOOD["contasreceber"]
    rows = [
        [*{**row, "codigoDoCliente": document, "numeroDoDocumento": f"H-{document}"}.values()]
        for document in (*documents[::100], *documents[-5:])
    ]
    write_rows(tmp_path / "titles.xlsx", [*row, "numeroDoDocumento"], rows)
    server.mkdir()
    with sandbox_process(server, options, clean_environment(server)) as sandbox:
        done = xlbridge("batch", "run", plan, "--yes", "--format", "json", **credentials(sandbox))
    assert report(done, 0)["rows"]["accepted"] == len(documents) + len(rows)


def test_nothing_is_sent_while_the_system_cannot_be_queried(
    xlbridge: Xlbridge, write_plan: WritePlan, tmp_path: Path, batch_sandbox: RunningSandbox
) -> None:
    plan = write_plan(PLAN)
    write_clients(tmp_path, "clients.xlsx", [new_cnpj()])
    write_payables(tmp_path, "payables.xlsx", 501)
    nowhere = credentials(batch_sandbox, XLBRIDGE_BASE_URL="http://127.0.0.1:9")
    done = xlbridge("batch", "run", plan, "--yes", **nowhere)
    assert (done.returncode, done.stdout.count("did not answer")) == (4, 2)
    assert "xlbridge batch resume month" in done.stdout
    there = credentials(batch_sandbox)
    found = report(xlbridge("batch", "resume", "--yes", "--format", "json", **there), 0)
    assert found["rows"]["accepted"] == 2


def test_an_unknown_code_is_reported_before_anything_is_sent(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN)
    write_clients(tmp_path, "clients.xlsx", [new_cnpj()])
    write_payables(tmp_path, "payables.xlsx", 501, 99999)
    found = report(run_batch("run", plan, "--yes", "--all-or-nothing", "--format", "json"), 1)
    assert states(found) == {"clients": "new", "payables": "invalid", "listing": "new"}
    assert "B3 codigoDoFornecedor" in run_batch("status", "month").stdout
