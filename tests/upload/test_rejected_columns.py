"""A rejection that names a field of the record is reported at the sheet's column and cell."""

from dataclasses import replace
from pathlib import Path

import pytest
from lossy_proxy import LossyProxy
from sheets import write_rows
from stdnum.br import cpf
from upload_parts import AT_ONCE, YES, new_cnpj, write_job

from xlbridge.client import Client
from xlbridge.report_forms import ReportForms
from xlbridge.upload import RequestedMode, Resolution, State, UploadContext, Uploads, resolve_job
from xlbridge.upload.planning import ConsentRequest
from xlbridge.upload.results import job_json, job_report


def new_cpf() -> str:
    """Return a CPF that no other test uses."""
    base = new_cnpj()[:8].zfill(9)
    return next(n for n in (f"{base}{last:02}" for last in range(100)) if cpf.is_valid(n))


@pytest.mark.parametrize("mode", ["queue", "direct"])
def test_a_registered_document_is_reported_at_its_cell(
    context: UploadContext, client: Client, tmp_path: Path, mode: RequestedMode
) -> None:
    firm, person, other = new_cnpj(), new_cpf(), new_cpf()
    client.registry.clients.create(nomeComercial="Antiga", cnpj=firm)
    client.registry.clients.create(nomeComercial="Antiga", natureza="F", cpf=person)
    client.registry.clients.create(nomeComercial="Antiga", natureza="F", cpf=other)
    header = ["nomeComercial", "natureza", "cnpj", "cpf"]
    rows = [
        ["Nova", "J", firm, new_cpf()],
        ["Nova", "F", new_cnpj(), person],
        ["Nova", "F", None, other],
    ]
    path = write_rows(tmp_path / "clients.xlsx", header, rows)
    job = write_job(context, client, path, mode, look_up=False)
    job = Uploads(context, client).run(job, YES)
    rejected = [(row["cell"], row["column"]) for row in job_json(context.journal, job)["rejected"]]
    assert rejected == [("C2", "cnpj"), ("D3", "cpf"), ("D4", "cpf")]


def test_a_decision_about_another_row_keeps_the_rejected_cell(
    context: UploadContext, client: Client, proxy: LossyProxy, tmp_path: Path
) -> None:
    firm = new_cnpj()
    client.registry.clients.create(nomeComercial="Antiga", cnpj=firm)
    rows = [["Sem chave", "J", None], ["Nova", "J", firm]]
    path = write_rows(tmp_path / "clients.xlsx", ["nomeComercial", "natureza", "cnpj"], rows)
    job = write_job(context, client, path, "records", look_up=False)
    proxy.fail_once("lose answer", "/cliente", "POST")
    job = Uploads(context, client).run(job, replace(AT_ONCE, at_once=1))
    assert job.state is State.NEEDS_PERSON
    before = job_json(context.journal, job)["rejected"]
    job = resolve_job(context, job, Resolution.APPLIED, "seen")
    assert [(row["cell"], row["column"]) for row in before] == [("C3", "cnpj")]
    assert job_json(context.journal, job)["rejected"] == before


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        (["NOME  Comercial", "Natureza", "CNPJ"], ["NOME Comercial", "CNPJ"]),
        (["nomeComercial", "natureza", "cnpj"], ["nomeComercial", "cnpj"]),
    ],
)
def test_plan_and_rejections_call_the_columns_as_the_sheet_does(
    context: UploadContext, client: Client, tmp_path: Path, header: list[str], shown: list[str]
) -> None:
    firm = new_cnpj()
    client.registry.clients.create(nomeComercial="Antiga", cnpj=firm)
    path = write_rows(tmp_path / "clients.xlsx", header, [["Nova", "J", firm]])
    plan = write_job(context, client, path, "records")
    lines = "\n".join(map(str, ConsentRequest.of(context, plan, client.target).lines()))
    assert f"row 2, {shown[0]}: sheet 'Nova', system 'Antiga'" in lines
    job = write_job(context, client, path, "records", look_up=False)
    job = Uploads(context, client).run(job, YES)
    report = ReportForms.of_report(lambda: job_report(context.journal, job))
    assert f"✗ C2  {shown[1]}: " in "\n".join(map(str, report.lines()))
