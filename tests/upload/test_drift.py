"""Rejections by the remote system that local validation missed are counted by rule.

Inside: upload.
"""

from upload_parts import YES, MakeClients, existing_cnpj, new_cnpj, report_lines, write_job

from xlbridge.client import Client
from xlbridge.upload import UploadContext, Uploads
from xlbridge.upload.requests import RejectedRow
from xlbridge.upload.results import job_json
from xlbridge.upload.results.report import DriftedRule, drifted_rules


def test_rejections_that_differ_only_in_values_count_as_one_rule() -> None:
    rows = (
        RejectedRow(2, "A2", "cnpj", "O número 12.ABC.345/01DE-35 já existe."),
        RejectedRow(3, "A3", "cnpj", "O número 11222333000181 já existe."),
        RejectedRow(4, "B4", "email", 'O e-mail "a b" não serve.'),
        RejectedRow(5, None, None, "Não aplicada.", itself=False),
    )
    assert drifted_rules(rows) == [
        DriftedRule("cnpj", "O número … já existe.", 2),
        DriftedRule("email", "O e-mail … não serve.", 1),
    ]


def test_rejections_of_an_upload_are_counted_by_rule(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    existing = [existing_cnpj(client), existing_cnpj(client)]
    path = make_clients(*existing, new_cnpj(), label="Novo")
    job = write_job(context, client, path, "queue", look_up=False)
    job = Uploads(context, client).run(job, YES)
    (rule,) = job_json(context.journal, job)["drift"]
    assert (rule["column"], rule["rows"]) == ("cnpj", 2)
    assert existing[0] not in rule["rule"]
    assert f"2 × cnpj: {rule['rule']}" in "\n".join(report_lines(context.journal, job))
