"""Rows with errors are set aside on request, and the good ones are sent."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from environment import Xlbridge, credentials
from openpyxl import load_workbook
from sheets import ERROR_FILL, header_of, write_rows
from upload_parts import YES, existing_cnpj, new_cnpj, registered, row_counts, send_sheet

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import (
    State,
    UploadContext,
    Uploads,
)
from xlbridge.upload.planning import RowReason
from xlbridge.upload.results import ControlTotals, job_report, write_status_copy
from xlbridge.validation import validate_workbook

HEADER = ["nomeComercial", "cnpj", "codigoDoTipoDeCliente", "email"]


def mixed_sheet(folder: Path, good: str, bad: str) -> Path:
    """Write two clients; the type of the second is not a code."""
    rows = [["Boa", good, 1, None], ["Ruim", bad, "1a", "ana@exemplo.com"]]
    return write_rows(folder / "clientes.xlsx", HEADER, rows)


def test_good_rows_are_sent_and_bad_rows_are_returned_unchanged(
    xlbridge: Xlbridge, sandbox: RunningSandbox, client: Client, tmp_path: Path
) -> None:
    good, corrected = new_cnpj(), new_cnpj()
    path = mixed_sheet(tmp_path, good, "12.345")
    environment = credentials(sandbox)
    without = xlbridge("upload", path, "--yes", "--format", "json", **environment)
    assert (without.returncode, registered(client, good)) == (1, False)
    assert "To send only the rows without errors: --good-rows" in without.stderr
    done = xlbridge("upload", path, "--good-rows", "--yes", "--format", "json", **environment)
    assert done.returncode == 1, done.stderr
    assert "1 good row to send; 1 with errors, which goes into the rejects workbook" in done.stderr
    report = json.loads(done.stdout)
    assert (report["state"], report["rows"]) == ("done", row_counts(read=2, accepted=1, held=1))
    (held,) = report["not_created"]
    assert (held["row"], held["reason"]) == (3, "errors")
    assert "codigoDoTipoDeCliente" in held["message"]
    assert registered(client, good)
    again = xlbridge("upload", path, "--good-rows", "--yes", **environment, XLBRIDGE_LANG="pt-BR")
    assert "  não enviada, aguardando você, linha 3: " in again.stderr
    book = load_workbook(report["rejects_file"])
    sheet = book["cliente"]
    header = header_of(sheet)
    row = dict(zip(header, [cell.value for cell in sheet[2]], strict=True))
    assert {name: row[name] for name in HEADER} == {
        "nomeComercial": "Ruim",
        "cnpj": "12.345",
        "codigoDoTipoDeCliente": "1a",
        "email": "ana@exemplo.com",
    }
    assert row["Original row"] == 3
    assert "Client type code" in row["Reason"]
    for name, value in (("cnpj", corrected), ("codigoDoTipoDeCliente", 1)):
        sheet.cell(2, header.index(name) + 1).value = value
    book.save(report["rejects_file"])
    again = xlbridge("retry", report["job"], "--yes", "--format", "json", **environment)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["rows"] == row_counts(read=1, accepted=1)
    assert registered(client, corrected)


def test_rows_that_are_still_bad_stay_in_the_next_rejects_workbook(
    xlbridge: Xlbridge, sandbox: RunningSandbox, client: Client, tmp_path: Path
) -> None:
    path = mixed_sheet(tmp_path, new_cnpj(), existing_cnpj(client))
    options = ("--good-rows", "--yes", "--format", "json")
    first = json.loads(xlbridge("upload", path, *options, **credentials(sandbox)).stdout)
    again = xlbridge("retry", first["job"], *options, **credentials(sandbox))
    report = json.loads(again.stdout)
    assert (again.returncode, report["rows"]) == (1, row_counts(read=1, held=1))
    assert "not sent, waiting for you, row 2: has errors" in again.stderr
    sheet = load_workbook(report["rejects_file"])["cliente"]
    assert "1a" in [cell.value for cell in sheet[2]]


def test_a_sheet_whose_layout_has_an_error_is_not_sent_in_part(
    context: UploadContext, client: Client, tmp_path: Path
) -> None:
    path = write_rows(tmp_path / "clientes.xlsx", ["cnpj", "email"], [[new_cnpj(), None]])
    sheet = validate_workbook(path, context.catalogue, resource="cliente")
    with pytest.raises(UsageError, match="1 error"):
        Uploads(context, client).create(sheet, replace(YES, good_rows=True))


def test_a_row_marked_as_no_record_does_not_stop_the_others(
    context: UploadContext, client: Client, tmp_path: Path
) -> None:
    good = new_cnpj()
    sheet = validate_workbook(mixed_sheet(tmp_path, good, "12.345"), context.catalogue)
    with pytest.raises(UsageError, match="errors"):
        Uploads(context, client).create(sheet, YES)
    marked = replace(sheet, non_records={3: "row-total"})
    job = send_sheet(context, client, marked, YES)
    (row,) = [row for row in context.journal.plan_of(job) if not row.is_created]
    assert (row.row, row.reason) == (3, RowReason.NO_RECORD)
    assert (job.state, job.held, job.notes.rejects_file) == (State.DONE, 0, None)
    verdict = str(job_report(context.journal, job).verdict)
    assert verdict == "Done. Rows accepted: 1 of 2; set aside, not records: 1."
    assert registered(client, good)


def test_reasons_in_totals_name_columns_by_their_titles(
    context: UploadContext, client: Client, tmp_path: Path
) -> None:
    sheet = validate_workbook(mixed_sheet(tmp_path, new_cnpj(), "12.345"), context.catalogue)
    job = send_sheet(context, client, sheet, replace(YES, good_rows=True))
    lines = [line for table in ControlTotals.of_job(context, job) for line in table.lines]
    shown = "\n".join(str(line.values[0]) for line in lines)
    assert "Client type code" in shown
    assert "codigoDoTipoDeCliente" not in shown


def test_cells_that_are_missing_or_break_a_rule_are_coloured_and_linked(
    context: UploadContext, client: Client, tmp_path: Path
) -> None:
    rows = [["Boa", new_cnpj(), 1, None], [None, new_cnpj(), 1, None], ["Ruim", new_cnpj(), 0, ""]]
    path = write_rows(tmp_path / "clientes.xlsx", HEADER, rows)
    sheet = validate_workbook(path, context.catalogue)
    job = send_sheet(context, client, sheet, replace(YES, good_rows=True))
    assert job.notes.rejects_file is not None
    rejects = load_workbook(job.notes.rejects_file)["cliente"]
    at = {name: header_of(rejects).index(name) + 1 for name in HEADER}
    for row, name in ((2, "nomeComercial"), (3, "codigoDoTipoDeCliente")):
        cell = rejects.cell(row, at[name])
        assert (cell.fill.fgColor.rgb, cell.comment is not None) == (f"FF{ERROR_FILL}", True)
        assert rejects.cell(row, 3).value == "Correct the coloured cells."
    write_status_copy(context, job, tmp_path / "copy.xlsx")
    summary = load_workbook(tmp_path / "copy.xlsx").worksheets[0]
    links = [cell.value for row in summary.iter_rows() for cell in row if cell.hyperlink]
    assert links == ["Rows to see to", "A3", "C4"]


@pytest.mark.parametrize("options", [(), ("--good-rows",)])
def test_a_sheet_of_notes_alone_is_not_sent(
    xlbridge: Xlbridge, sandbox: RunningSandbox, tmp_path: Path, options: tuple[str, ...]
) -> None:
    header = ["codigoDoTipoDeCliente", "descricaoDoTipoDeCliente"]
    path = write_rows(tmp_path / "tipos.xlsx", header, [["Tipo novo", None], ["Tipo velho", None]])
    done = xlbridge("upload", path, "--yes", *options, **credentials(sandbox))
    assert done.returncode == 1
    assert "row-note" in done.stderr
    assert "Nothing was sent" in done.stderr


@pytest.mark.parametrize("last", ["Última", None])
def test_a_row_with_only_wrong_cells_does_not_shift_the_others(
    xlbridge: Xlbridge, sandbox: RunningSandbox, tmp_path: Path, last: str | None
) -> None:
    header = ["codigoDoTipoDeCliente", "descricaoDoTipoDeCliente"]
    first, second = f"Atacado {new_cnpj()}", f"Varejo {new_cnpj()}"
    rows = [[None, first], ["abc", None], ["def", second], ["ghi", last]]
    path = write_rows(tmp_path / "tipos.xlsx", header, rows)
    options = ("--good-rows", "--yes", "--format", "json")
    done = xlbridge("upload", path, *options, **credentials(sandbox))
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["rows"] == row_counts(read=4, accepted=1, held=3)
    sheet = load_workbook(report["rejects_file"])["tipocliente"]
    names = ("Original row", "codigoDoTipoDeCliente", "descricaoDoTipoDeCliente")
    at = [header_of(sheet).index(name) for name in names]
    rejected = [tuple(row[n] for n in at) for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert rejected == [(3, "abc", None), (4, "def", second), (5, "ghi", last)]
