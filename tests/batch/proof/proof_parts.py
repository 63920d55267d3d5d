"""A month in a real sandbox, sent and then tampered with, so that its proof has findings.

Inside: batch.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from databases import TABLES, connected
from lossy_proxy import LossyProxy
from sheets import write_records
from sqlalchemy import ColumnElement, delete, insert, select, update
from upload_parts import new_cnpj

from xlbridge.batch.proof_builder import build_proof
from xlbridge.batch.proof_model import Proof, ProofExport, ProofTitle, StepFile
from xlbridge.client import Client
from xlbridge.i18n import Text
from xlbridge.upload import (
    Job,
    RequestedMode,
    UploadContext,
    UploadOptions,
    Uploads,
)
from xlbridge.upload.planning import ApproveAll
from xlbridge.validation import validate_workbook

receivables = TABLES["receivables"]

AT_ONCE = UploadOptions(consent=ApproveAll(), sleep=lambda _s: None, settle_seconds=0)


@dataclass
class BatchSetting:
    """An upload context and a client in a folder, and the steps of the batch so far."""

    context: UploadContext
    client: Client
    folder: Path
    steps: dict[str, list[StepFile]] = field(default_factory=dict)

    def customer(self) -> int:
        """Create a client in the system; return its code."""
        created = self.client.registry.clients.create(nomeComercial="Ana", cnpj=new_cnpj())
        return int(created.codigoDoCliente)

    def write(self, name: str, resource: str, *rows: Mapping[str, Any]) -> Path:
        """Write a workbook of a resource with ``rows``."""
        return write_records(self.folder / name, resource, rows)

    def send(
        self,
        step: str,
        path: Path,
        *,
        mode: RequestedMode = "queue",
        chunk_rows: int | None = None,
        options: UploadOptions = AT_ONCE,
        again: str | None = None,
    ) -> Job:
        """Send a workbook of a step."""
        sheet = validate_workbook(path, self.context.catalogue)
        assert sheet.ok, sheet.findings
        options = replace(options, mode=mode, chunk_rows=chunk_rows, again=again)
        job = Uploads(self.context, self.client).create(sheet, options)
        self.add(step, path, len(sheet.rows), job.id)
        return Uploads(self.context, self.client).run(job, options)

    def prove(self) -> Proof:
        """Return the closing proof of the steps so far."""
        return build_proof(self.context, self.client, TITLE, self.steps, at=AT)

    def retry(self, job: Job, path: Path, *, again: str | None = None) -> Job:
        """Send the corrected rows of a job."""
        options = replace(AT_ONCE, again=again)
        sheet = validate_workbook(path, self.context.catalogue)
        uploads = Uploads(self.context, self.client)
        retry = uploads.create(uploads.rows_to_send(sheet, options, job), options)
        return uploads.run(retry, options)

    def add(
        self, step: str, path: Path, rows: int, job: str | None = None, because: Text | None = None
    ) -> StepFile:
        """Add a workbook to a step of the batch."""
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        file = StepFile(path, digest, rows, because, job)
        self.steps.setdefault(step, []).append(file)
        return file


def title_row(customer: int, document: str | None, amount: float, due: date) -> dict[str, Any]:
    """Return a receivable of a customer; without a document it cannot be read back."""
    return {
        "codigoDoCliente": customer,
        "numeroDoDocumento": document,
        "valorDoLancamento": amount,
        "dataDeVencimento": due,
    }


OCTOBER, NOVEMBER = date(2026, 10, 31), date(2026, 11, 5)
AT = datetime(2026, 11, 2, 8, 30)
HOSTILE = "=HYPERLINK(\"http://x\")</td><script>document.title='owned'</script><img src=x>"


def send_month(setting: BatchSetting, proxy: LossyProxy, sandbox_home: Path) -> Proof:
    """Send a month with all kinds of rows, tamper with some records, and return the proof."""
    taken, ana = new_cnpj(), setting.customer()
    setting.client.registry.clients.create(nomeComercial="Antigo", cnpj=taken)
    clients = [{"nomeComercial": HOSTILE, "cnpj": document} for document in (new_cnpj(), taken)]
    unread = replace(AT_ONCE, look_up=False)
    setting.send("clientes", setting.write("clientes.xlsx", "cliente", *clients), options=unread)
    bad = setting.write("ruim.xlsx", "cliente", {"nomeComercial": None})
    setting.add("clientes", bad, 1, because=Text(pt="1 erro na conferência", en="1 error found"))
    documents = [f"M-{number}" for number in range(1, 6)]
    titles = [title_row(ana, document, 1234.10, OCTOBER) for document in documents]
    path = setting.write("receber.xlsx", "contasreceber", *titles)
    setting.send("receber", path, chunk_rows=3)
    proxy.fail_once("lose answer", "preview=false")
    unnamed = [title_row(ana, None, 7.77, NOVEMBER)] * 2
    doubtful = setting.write("sem-documento.xlsx", "contasreceber", *unnamed)
    setting.send("receber", doubtful, mode="direct")
    notes = setting.write("notas.xlsx", "nota-fiscal-servico", *[{"codigoDoCliente": ana}] * 2)
    setting.send("notas", notes)
    changed = {"valorDoLancamento": Decimal("1234.11"), "historico": HOSTILE}
    tamper(sandbox_home, ana, changed="M-2", values=changed, deleted="M-3", copied="M-4")
    exports = [
        ProofExport("titulos", "contasreceber", Path("t.xlsx"), "cd" * 32, MANIFEST),
        ProofExport(
            "pedidos",
            "pedidos",
            Path("p.xlsx"),
            problem=Text(pt="espera receber", en="waits for receber"),
        ),
    ]
    return build_proof(setting.context, setting.client, TITLE, setting.steps, exports, at=AT)


def tamper(
    sandbox_home: Path,
    customer: int,
    *,
    changed: str,
    values: Mapping[str, Any],
    deleted: str,
    copied: str | None = None,
) -> None:
    """Change, delete and copy a customer's receivables in the system, by document."""

    def titled(document: str) -> ColumnElement[bool]:
        of_customer = receivables.c.codigoDoCliente == customer
        return of_customer & (receivables.c.numeroDoDocumento == document)

    with connected(sandbox_home, writing=True) as database:
        one = update(receivables).where(titled(changed)).values(**values)
        assert database.execute(one).rowcount == 1
        assert database.execute(delete(receivables).where(titled(deleted))).rowcount == 1
        if copied is None:
            return
        found = database.execute(select(receivables).where(titled(copied))).mappings().one()
        copy = dict(found) | {"numeroDaTransacao": 900_000 + customer}
        database.execute(insert(receivables).values(**copy))


MANIFEST = {
    "complete": False,
    "records": 812,
    "sheets": {"contasreceber": 812},
    "holes": [{"message": {"pt": "Pode faltar: vieram 500", "en": "Some may be missing"}}],
    "missing": [],
}
TITLE = ProofTitle("fechamento", Path("fechamento.yaml"), "ab" * 32, {"month": "2026-10"})
