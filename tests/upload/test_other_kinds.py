"""Rows of files of other kinds are sent, and their status is written to an .xlsx workbook."""

from pathlib import Path

import openpyxl
import pytest
from sheets import write_rows
from upload_parts import YES, new_cnpj, write_job
from xlsb_writer import write_xlsb

from xlbridge.client import Client
from xlbridge.upload import UploadContext, Uploads
from xlbridge.upload.results import write_status_copy
from xlbridge.workbook import STATUS_COLUMNS

HEADER = ("nomeComercial", "natureza", "cnpj")


@pytest.mark.parametrize("kind", ["csv", "xlsb"])
def test_rows_are_sent_and_their_status_is_written_to_a_copy(
    kind: str, context: UploadContext, client: Client, tmp_path: Path
) -> None:
    path, copy = tmp_path / f"clientes.{kind}", tmp_path / "viva.xlsx"
    row = ("Padaria São João", "J", new_cnpj())
    if kind == "csv":
        path.write_text(f"{';'.join(HEADER)}\n{';'.join(row)}\n", encoding="cp1252")
    else:
        write_xlsb(write_rows(tmp_path / "a.xlsx", HEADER, [row]), path)
    job = Uploads(context, client).run(write_job(context, client, path, "direct"), YES)
    write_status_copy(context, job, copy)
    sheet = openpyxl.load_workbook(copy).worksheets[1]
    assert [cell.value for cell in sheet[1]] == [*HEADER, *(column.en for column in STATUS_COLUMNS)]
    assert [cell.value for cell in sheet[2]][:4] == [*row, "accepted"]
