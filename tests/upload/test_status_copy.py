"""A copy of the analyst's workbook has each row's status, reason and remote code."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from environment import Xlbridge, credentials
from openpyxl import load_workbook
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet
from sheets import ERROR_FILL, GOOD, write_rows
from upload_parts import YES, MakeClients, existing_cnpj, new_cnpj, write_job

from xlbridge.client import Client
from xlbridge.client.registries import StoredNames
from xlbridge.errors import UsageError
from xlbridge.resources.references import BRANCH
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import UploadContext, Uploads
from xlbridge.upload.results import write_status_copy
from xlbridge.validation import validate_workbook
from xlbridge.workbook import STATUS_COLUMNS


def statuses_of(sheet: Worksheet) -> dict[int, tuple[object, ...]]:
    """Return the status columns of each row of the sheet, by row number."""
    header = [cell.value for cell in sheet[3]]
    first = header.index(STATUS_COLUMNS[0].en) + 1
    return {
        row: tuple(sheet.cell(row, first + offset).value for offset in range(4))
        for row in range(4, sheet.max_row + 1)
    }


def test_a_status_copy_has_statuses_reasons_and_codes(
    context: UploadContext, client: Client, make_clients: MakeClients, tmp_path: Path
) -> None:
    existing, fresh = existing_cnpj(client), new_cnpj()
    path = make_clients(fresh, existing, label="Novo")
    job = write_job(context, client, path, "queue", look_up=False)
    job = Uploads(context, client).run(job, YES)
    copy = tmp_path / "viva.xlsx"
    write_status_copy(context, job, copy, client)
    sheet = load_workbook(copy)["Clientes"]
    assert sheet["A1"].value == "Clientes novos"
    code = client.registry.clients.list(cnpjcpf=fresh).codigoDoCliente
    statuses = statuses_of(sheet)
    assert statuses[4] == ("accepted", None, None, str(code))
    assert (statuses[5][0], statuses[5][3]) == ("rejected", None)
    assert "já está cadastrado" in str(statuses[5][1])
    assert statuses[5][2] == "Correct the coloured cells."
    # The reason is also where the cell is, and at the first cell of the row.
    for address in ("B5", "C5"):
        assert sheet[address].comment is not None
        assert "Correct the coloured cells." in sheet[address].comment.text
    assert sheet["A5"].comment is None
    # The header and what names the row stay in view.
    assert sheet.freeze_panes == "C4"
    summary = load_workbook(copy).worksheets[0]
    assert (summary.title, summary["A1"].value) == (
        "Upload summary",
        f"Summary of the upload {job.id}",
    )
    lines = {row[0].value: row[1].value for row in summary.iter_rows(min_row=4)}
    assert lines["Total"] == 1
    assert str(summary["A3"].value).endswith(f"xlbridge retry {copy.name}")
    # Each open row is listed on the first sheet, with a link to its cell.
    *_, listed = summary.iter_rows()
    assert [cell.value for cell in listed] == [
        statuses[5][1],
        "C5",
        "rejected",
        "Correct the coloured cells.",
        f"{existing} · Novo {existing}",
    ]
    assert listed[1].hyperlink.location == "'Clientes'!C5"
    # Another link leads to that list.
    [to_rows] = [row[0] for row in summary.iter_rows(max_row=9) if row[0].hyperlink]
    caption = summary[str(to_rows.hyperlink.location).rpartition("!")[2]]
    assert (to_rows.value, caption.value) == ("Rows to see to", "Reason")
    # The wrong cell stands out in its row.
    cell, row = sheet.conditional_formatting
    assert (str(cell.cells), str(row.cells)) == ("C5", "A5:G5")
    assert cell.rules[0].priority < row.rules[0].priority
    assert str(cell.rules[0].dxf.fill.bgColor.rgb) == f"FF{ERROR_FILL}"
    assert str(row.rules[0].dxf.fill.bgColor.rgb) != f"FF{ERROR_FILL}"
    assert [sheet.column_dimensions[letter].width for letter in "DEFG"] == [26, 60, 50, 22]
    assert sheet.auto_filter.ref == "A3:G5"
    # The reason is the message of the system; the analyst edits the cells next to it.
    assert [cell.quotePrefix for cell in sheet[5][3:5]] == [True, True]
    # Numbers end at the border of the column on the left.
    assert [cell.alignment.indent for cell in sheet[5][3:5]] == [1, 1]
    again = validate_workbook(copy, context.catalogue)
    assert (again.ok, again.warnings) == (True, 0)


@pytest.mark.parametrize(("across", "width", "pages"), [(1, 24, 2), (1, 8, 1), (3, 24, 3)])
def test_a_sheet_that_outgrows_its_page_is_printed_on_two(
    context: UploadContext,
    client: Client,
    make_clients: MakeClients,
    tmp_path: Path,
    across: int,
    width: int,
    pages: int,
) -> None:
    path = make_clients(new_cnpj())
    book = load_workbook(path)
    sheet = book["Clientes"]
    sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = across, 0
    for letter in "ABC":
        sheet.column_dimensions[letter].width = width
    book.save(path)
    copy = copy_of_preview(context, client, path, tmp_path)
    assert (load_workbook(copy)["Clientes"].page_setup.fitToWidth or 1) == pages


def test_a_held_row_says_what_differs(
    context: UploadContext, client: Client, make_clients: MakeClients, tmp_path: Path
) -> None:
    document = new_cnpj()
    first = write_job(context, client, make_clients(document, label="Novo"), "queue")
    Uploads(context, client).run(first, YES)
    job = write_job(context, client, make_clients(document, label="Outro"), "queue")
    write_status_copy(context, Uploads(context, client).run(job, YES), tmp_path / "viva.xlsx")
    state, reason, to_do, _ = statuses_of(load_workbook(tmp_path / "viva.xlsx")["Clientes"])[4]
    assert state == "not sent, waiting for you"
    assert reason == (
        "In the system with other values, which the interface cannot change (nomeComercial: sheet "
        f"'Outro {document}', system 'Novo {document}')"
    )
    assert to_do == "Change it by hand in the system"


def copy_of_preview(context: UploadContext, client: Client, path: Path, folder: Path) -> Path:
    job = Uploads(context, client).run(write_job(context, client, path, "preview"), YES)
    copy = folder / "viva.xlsx"
    write_status_copy(context, job, copy)
    return copy


def test_a_status_copy_of_a_status_copy_replaces_the_columns(
    context: UploadContext, client: Client, make_clients: MakeClients, tmp_path: Path
) -> None:
    copy = copy_of_preview(context, client, make_clients(new_cnpj()), tmp_path)
    assert statuses_of(load_workbook(copy)["Clientes"])[4][0] == "not sent"
    sent = Uploads(context, client).run(write_job(context, client, copy, "direct"), YES)
    write_status_copy(context, sent, tmp_path / "outra.xlsx")
    sheet = load_workbook(tmp_path / "outra.xlsx")["Clientes"]
    assert [cell.value for cell in sheet[3]].count(STATUS_COLUMNS[0].en) == 1
    assert statuses_of(sheet)[4][0] == "accepted"


def test_the_panes_of_the_analyst_stay(
    context: UploadContext, client: Client, make_clients: MakeClients, tmp_path: Path
) -> None:
    path = make_clients(new_cnpj())
    book = load_workbook(path)
    book["Clientes"].freeze_panes = "C2"
    book.save(path)
    copy = copy_of_preview(context, client, path, tmp_path)
    assert load_workbook(copy)["Clientes"].freeze_panes == "C2"


def test_a_changed_file_gets_no_status_copy(
    context: UploadContext, client: Client, make_clients: MakeClients, tmp_path: Path
) -> None:
    document = new_cnpj()
    path = make_clients(document)
    job = Uploads(context, client).run(write_job(context, client, path, "direct"), YES)
    make_clients(new_cnpj(), document)
    with pytest.raises(UsageError, match="no longer the file"):
        write_status_copy(context, job, tmp_path / "viva.xlsx")
    assert not (tmp_path / "viva.xlsx").exists()


def test_the_command_writes_the_status_copy_and_recreates_it(
    xlbridge: Xlbridge, sandbox: RunningSandbox, make_clients: MakeClients, tmp_path: Path
) -> None:
    path = make_clients(new_cnpj(), new_cnpj())
    environment = credentials(sandbox)
    options = ("--yes", "--mode", "direct", "--format", "json")
    wrong = xlbridge("upload", path, *options, "--annotate", path, **environment)
    assert wrong.returncode == 2
    assert json.loads(wrong.stdout)["error"]["code"] == "usage-error"
    assert load_workbook(path)["Clientes"].max_column == 3
    sent = xlbridge("upload", path, *options, "--annotate", "viva.xlsx", **environment)
    assert sent.returncode == 0, sent.stderr
    first = (tmp_path / "viva.xlsx").read_bytes()
    (tmp_path / "viva.xlsx").unlink()
    job = json.loads(sent.stdout)["job"]
    done = xlbridge("jobs", job, "--annotate", "viva.xlsx", **environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "viva.xlsx").read_bytes() == first
    statuses = statuses_of(load_workbook(tmp_path / "viva.xlsx")["Clientes"])
    assert [status[0] for status in statuses.values()] == ["accepted", "accepted"]


@pytest.mark.parametrize("wrong", [False, True])
def test_the_page_of_an_upload_has_its_totals(
    xlbridge: Xlbridge, sandbox: RunningSandbox, tmp_path: Path, wrong: bool
) -> None:
    row = GOOD["contasreceber"] | {"codigoDoCliente": 999_999}
    rows = [[*row.values()], [*(row | {"numeroDoDocumento": "other"}).values()]]
    if wrong:
        rows[0][list(row).index("valorDoLancamento")] = "?"
    write_rows(tmp_path / "titulos.xlsx", [*row], rows)
    options = ("--yes", "--format", "html", "-o", "page.html")
    done = xlbridge("upload", "titulos.xlsx", *options, **credentials(sandbox))
    assert done.returncode == 1, done.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    if wrong:
        assert "titulos.xlsx" in page
        return
    assert "<h1>Upload " in page
    assert all(text in page for text in ("Receivable entries", "Status of the rows", "999999"))


def test_branches_in_the_summary_have_the_names_that_were_read_earlier(
    context: UploadContext,
    client: Client,
    customer: int,
    make_receivables: Callable[..., Path],
    tmp_path: Path,
) -> None:
    job = write_job(context, client, make_receivables(customer, "9", "a", "b"), "queue")
    job = Uploads(context, client).run(job, YES)
    copy = tmp_path / "viva.xlsx"
    names = StoredNames(context.settings, BRANCH)
    for known, shown in (({}, "1"), ({"1": "Matriz"}, "1 – Matriz")):
        if known:
            names.write(known, set())
        write_status_copy(context, job, copy)
        assert shown in {row[0].value for row in load_workbook(copy).worksheets[0].iter_rows()}
        copy.unlink()


def test_the_page_of_an_upload_leaves_names_of_branches_for_its_summary(
    xlbridge: Xlbridge, demo_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    row = GOOD["contasreceber"] | {"numeroDoDocumento": new_cnpj()}
    write_rows(tmp_path / "titulos.xlsx", [*row], [[*row.values()]])
    options = ("--yes", "--format", "html", "-o", "page.html")
    done = xlbridge("upload", "titulos.xlsx", *options, **credentials(demo_sandbox))
    assert done.returncode == 0, done.stderr
    jobs = json.loads(xlbridge("jobs", "--format", "json", **credentials(demo_sandbox)).stdout)
    job = jobs["jobs"][0]["job"]
    assert (
        xlbridge("jobs", job, "--annotate", "viva.xlsx", **credentials(demo_sandbox)).returncode
        == 0
    )
    lines = [row[0].value for row in load_workbook(tmp_path / "viva.xlsx").worksheets[0].rows]
    assert any(str(line).startswith("1 – ") for line in lines), lines


def test_the_first_rejects_of_a_home_have_names_of_branches(
    xlbridge: Xlbridge, demo_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    row = GOOD["contasreceber"]
    rows = [
        [*(row | {"codigoDoCliente": client, "numeroDoDocumento": new_cnpj()}).values()]
        for client in (1001, 999_999)
    ]
    write_rows(tmp_path / "titulos.xlsx", [*row, "numeroDoDocumento"], rows)
    sent = xlbridge(
        "upload", "titulos.xlsx", "--yes", "--format", "json", **credentials(demo_sandbox)
    )
    assert sent.returncode == 1, sent.stderr
    summary = load_workbook(json.loads(sent.stdout)["rejects_file"]).worksheets[0]
    lines = [row[0].value for row in summary.rows]
    assert any(str(line).startswith("1 – ") for line in lines), lines
