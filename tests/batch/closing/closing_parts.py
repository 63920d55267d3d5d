"""A month in a real sandbox, sent and then tampered with, so that a proof has much to say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from sheets import write_records
from upload_parts import new_cnpj

from xlbridge.api.client import Client
from xlbridge.batch.closing.given import ProofFile, ProofStep, ProofTitle
from xlbridge.i18n import Text
from xlbridge.upload.job import Job
from xlbridge.upload.options import RunOptions
from xlbridge.upload.payload import file_hash
from xlbridge.upload.plan import WantedMode, choose_mode
from xlbridge.upload.retry import mended_rows
from xlbridge.upload.send import Desk, run_job, write_down
from xlbridge.validation.validate import validate_workbook

AT_ONCE = RunOptions(consent=lambda _job, _seen: True, sleep=lambda _s: None, settle_seconds=0)


@dataclass
class Bench:
    """A desk and a client at work in a folder, and the steps of the batch so far."""

    desk: Desk
    client: Client
    folder: Path
    steps: dict[str, list[ProofFile]] = field(default_factory=dict)

    def customer(self) -> int:
        """A new client of the system."""
        created = self.client.registry.clients.create(nomeComercial="Ana", cnpj=new_cnpj())
        return int(created.codigoDoCliente)

    def write(self, name: str, resource: str, *rows: Mapping[str, Any]) -> Path:
        """Write a workbook with a row of a resource for each of ``rows``."""
        return write_records(self.folder / name, resource, rows)

    def send(
        self,
        step: str,
        path: Path,
        *,
        mode: WantedMode = "queue",
        chunk_rows: int | None = None,
        options: RunOptions = AT_ONCE,
    ) -> Job:
        """Send a workbook as a part of a step."""
        sheet = validate_workbook(path, self.desk.catalogue)
        assert sheet.ok, sheet.findings
        assert sheet.resource is not None
        plan = choose_mode(sheet.resource, mode)
        job = write_down(self.desk, sheet, sheet.resource, plan, "rehearsal", chunk_rows=chunk_rows)
        self.add(step, path, len(sheet.rows), job.id)
        return run_job(self.desk, self.client, job, options)

    def retry(self, job: Job, path: Path) -> Job:
        """Send mended rows of a job again."""
        sheet = validate_workbook(path, self.desk.catalogue)
        mended = mended_rows(self.desk, job, sheet)
        assert sheet.resource is not None
        plan = choose_mode(sheet.resource, job.what.mode.value)
        again = write_down(
            self.desk, mended.sheet, sheet.resource, plan, "rehearsal", retry=mended.retry
        )
        return run_job(self.desk, self.client, again, AT_ONCE)

    def add(
        self, step: str, path: Path, rows: int, *jobs: str, because: Text | None = None
    ) -> ProofFile:
        """Put a workbook into a step of the batch."""
        file = ProofFile(path, file_hash(path), rows, because, jobs)
        self.steps.setdefault(step, []).append(file)
        return file

    @property
    def proof_steps(self) -> Sequence[ProofStep]:
        """The steps as the proof takes them."""
        return [ProofStep(name, tuple(files)) for name, files in self.steps.items()]


def title_row(customer: int, document: str | None, amount: float, due: date) -> dict[str, Any]:
    """A receivable of a customer; one without a document cannot be found again."""
    return {
        "codigoDoCliente": customer,
        "numeroDoDocumento": document,
        "valorDoLancamento": amount,
        "dataDeVencimento": due,
    }


TITLE = ProofTitle("fechamento", Path("fechamento.yaml"), "ab" * 32, {"month": "2026-10"})
