"""A batch whose receivables refer to clients of the same batch, run by the real command."""

import json
from pathlib import Path
from typing import Any

from batch_parts import WritePlan
from environment import Xlbridge, credentials
from sheets import edit, write_records, write_rows

from xlbridge.client import Client
from xlbridge.client.registries import Registries
from xlbridge.resources.references import REFERENCES
from xlbridge.sandbox import RunningSandbox
from xlbridge.wire.financial import RECEIVABLE_FIND

PLAN = """\
name: linked
steps:
  titles:
    upload: titles.xlsx
    resource: contasreceber
    links: {codigoDoCliente: seuCodigo}
  clients:
    upload: clients.xlsx
    resource: cliente
"""
NO_SELLER, SELLER = 999, 2


def mend(folder: Path) -> None:
    """Correct the seller in the rejects workbook of the clients."""
    [rejects] = folder.glob("clients-rejected-*.xlsx")
    edit(rejects, "codigoDoVendedor", 2, SELLER)


def test_receivables_wait_for_a_rejected_client_until_it_is_corrected(
    xlbridge: Xlbridge,
    batch_sandbox: RunningSandbox,
    client: Client,
    registries: Registries,
    tmp_path: Path,
    write_plan: WritePlan,
) -> None:
    plan = write_plan(PLAN)
    header = ["nomeComercial", "seuCodigo", "codigoDoVendedor"]
    write_rows(tmp_path / "clients.xlsx", header, [["A", "LB-1", 1], ["B", "LB-2", NO_SELLER]])
    named = [{"codigoDoCliente": f"LB-{n}", "idws": f"LB-T{n}"} for n in (2, 1)]
    write_records(tmp_path / "titles.xlsx", "contasreceber", named)

    environment = credentials(batch_sandbox, XLBRIDGE_SETTLE="0")
    planned = xlbridge("batch", "plan", plan, **environment).stdout
    assert (
        "titles.xlsx: names that the system does not have yet: 2 (the first, in B2). They are "
        "looked up again after: clients."
    ) in planned

    def run(code: int) -> dict[str, Any]:
        done = xlbridge("batch", "run", plan, "--yes", "--format", "json", **environment)
        assert done.returncode == code, done.stderr + done.stdout
        steps = json.loads(done.stdout)["steps"]
        return {step["step"]: step["state"] for step in steps}

    assert run(1) == {"clients": "partial", "titles": "new"}
    mend(tmp_path)
    for _ in range(2):
        assert run(0) == {"clients": "done", "titles": "done"}
    codes = {
        record["seuCodigo"]: record["codigoDoCliente"]
        for record in registries.load_all(REFERENCES["cliente"]).records
        if str(record.get("seuCodigo")).startswith("LB-")
    }
    for title in named:
        query = RECEIVABLE_FIND.query
        assert query is not None
        [found] = client.records(RECEIVABLE_FIND, query=query(idws=title["idws"]))
        assert found["codigoDoCliente"] == codes[title["codigoDoCliente"]]
