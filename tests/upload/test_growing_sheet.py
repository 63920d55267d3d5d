"""A sheet that grew after it was sent: only new and corrected rows are sent.

Inside: upload.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from environment import Xlbridge, credentials
from lossy_proxy import LossyProxy
from sheets import write_rows
from upload_parts import YES, row_counts, write_job

from xlbridge.client import Client
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import UploadContext, Uploads
from xlbridge.upload.planning.corrected_rows import corrected_rows
from xlbridge.validation import validate_workbook
from xlbridge.wire.financial import RECEIVABLE_LIST_OPEN, ReceivableQuery

HEADER = [
    "codigoDaFilial",
    "codigoDoCliente",
    "codigoDoItemDeLancamento",
    "codigoDoCentroDeCusto",
    "codigoDaContaCorrente",
    "historico",
    "numeroDoDocumento",
    "dataDeVencimento",
    "valorDoLancamento",
]


def title(customer: int, number: int, amount: float = 10.5) -> list[Any]:
    codes = [1, customer, "1.01.001", "01.001", 1]
    return [*codes, "Mensalidade", f"NF-{number:04}", "2026-12-01", amount]


def document_numbers(client: Client, customer: int) -> list[str]:
    query = ReceivableQuery(codigoDoCliente=customer)
    found = client.call(RECEIVABLE_LIST_OPEN, query=query)
    return sorted(str(one.numeroDoDocumento) for one in found)


def test_rows_of_a_grown_sheet_that_exist_are_not_sent_again(
    xlbridge: Xlbridge,
    sandbox: RunningSandbox,
    client: Client,
    proxy: LossyProxy,
    customer: int,
    tmp_path: Path,
) -> None:
    environment = credentials(sandbox) | {"XLBRIDGE_BASE_URL": proxy.base_url}
    rows = [title(customer, number) for number in range(20)]
    wrong = [title(999_999, 20)]
    path = tmp_path / "crescente.xlsx"

    def run(command: Sequence[str | Path], sheet: Sequence[Sequence[Any]]) -> dict[str, Any]:
        write_rows(path, HEADER, sheet)
        done = xlbridge(*command, "--yes", "--format", "json", **environment)
        output: dict[str, Any] = json.loads(done.stdout)
        return output | {"code": done.returncode}

    first = run(["upload", path], [*rows, *wrong])
    assert (first["code"], first["rows"]) == (1, row_counts(read=21, accepted=20, rejected=1))
    grown = [title(customer, 22), *reversed(rows), title(customer, 20), title(customer, 21)]
    proxy.seen.clear()
    second = run(["retry", first["job"], "--file", path], grown)
    assert (second["code"], second["rows"]) == (0, row_counts(read=23, accepted=3, unchanged=20))
    assert document_numbers(client, customer) == [f"NF-{number:04}" for number in range(23)]
    assert sum("importacao/contasreceber/fila" in path for _, path in proxy.seen) == 1
    proxy.seen.clear()
    third = run(["upload", path], grown)
    assert (third["code"], third["rows"]) == (0, row_counts(read=23, unchanged=23))
    assert not any("importacao" in path for _, path in proxy.seen)


def test_a_held_row_does_not_gain_columns_its_sheet_lacked(
    context: UploadContext, client: Client, customer: int, tmp_path: Path
) -> None:
    """The rejects workbook has every column; those that the sheet lacked do not change a field."""
    header = [*HEADER, "dataDeEmissao"]
    first = write_rows(tmp_path / "um.xlsx", header, [[*title(customer, 1), "2026-11-20"]])
    Uploads(context, client).run(write_job(context, client, first, "direct"), YES)
    path = write_rows(tmp_path / "dois.xlsx", HEADER, [title(customer, 1, 99.0)])
    job = Uploads(context, client).run(write_job(context, client, path, "direct"), YES)
    (held,) = context.journal.plan_of(job)
    sheet = validate_workbook(Path(job.notes.rejects_file), context.catalogue)
    again = Uploads(context, client).create(corrected_rows(context, job, sheet), YES)
    (row,) = context.journal.plan_of(again)
    assert list(held.differences) == list(row.differences) == ["valorDoLancamento"]
