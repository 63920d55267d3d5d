"""Status copies are retried as the workbook was sent: with its sheet and its links."""

import json
from pathlib import Path

from environment import Xlbridge, credentials
from openpyxl import Workbook, load_workbook
from sheets import GOOD, header_of
from upload_parts import new_cnpj

from xlbridge.client import Client
from xlbridge.sandbox import RunningSandbox

SENT = ("--yes", "--format", "json")


def test_a_status_copy_of_one_sheet_with_links_is_retried_as_printed(
    xlbridge: Xlbridge, sandbox: RunningSandbox, client: Client, tmp_path: Path
) -> None:
    row, document = GOOD["contasreceber"], new_cnpj()
    client.registry.clients.create(nomeComercial="Ana", cnpj=document)
    environment = credentials(sandbox)
    path = tmp_path / "titulos.xlsx"
    book = Workbook()
    for title, documents in {"Outubro": ("L-1", "L-2"), "Novembro": ("L-3",)}.items():
        sheet = book.create_sheet(title)
        sheet.append([*row, "numeroDoDocumento"])
        for number, branch in zip(documents, (1, 77), strict=False):
            cells = row | {"codigoDoCliente": document, "codigoDaFilial": branch}
            sheet.append([*cells.values(), number])
    book.remove(book.worksheets[0])
    book.save(path)
    copy = tmp_path / "enviados.xlsx"
    how = ("--sheet", "Outubro", "--link", "codigoDoCliente=cliente")
    sent = xlbridge("upload", path, *how, "--annotate", copy, *SENT, **environment)
    assert sent.returncode == 1, sent.stderr
    report = json.loads(sent.stdout)
    assert (report["rows"]["accepted"], report["rows"]["rejected"]) == (1, 1)
    book = load_workbook(copy)
    sheet = book["Outubro"]
    header = [cell.value for cell in sheet[1]]
    sheet.cell(3, header.index("codigoDaFilial") + 1, 1)
    book.save(copy)
    again = xlbridge("retry", copy, *SENT, **environment)
    assert again.returncode == 0, again.stderr + again.stdout
    assert json.loads(again.stdout)["rows"]["accepted"] == 1
    # A copy that is written later has the code of the row that the retry created, too.
    later = tmp_path / "depois.xlsx"
    done = xlbridge("jobs", report["job"], "--annotate", later, **environment)
    assert done.returncode == 0, done.stderr
    sheet = load_workbook(later)["Outubro"]
    header = [cell.value for cell in sheet[1]]
    codes = [sheet.cell(line, len(header)).value for line in (2, 3)]
    assert all(codes), (header, codes)


def test_rejects_without_the_sheets_of_lists_are_retried(
    xlbridge: Xlbridge, demo_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    environment, path = credentials(demo_sandbox), tmp_path / "pedidos.xlsx"
    export = ("export", "pedidos", "--limit", "4", "-o", path)
    assert xlbridge(*export, **environment).returncode == 0
    book = load_workbook(path)
    for title in ("produtos", "parcelas"):
        del book[title]
    orders = book["pedidos"]
    orders.cell(3, header_of(orders).index("observacaoCR") + 1, "Outra")
    book.save(path)
    sent = xlbridge("upload", path, *SENT, **environment)
    report = json.loads(sent.stdout)
    assert (report["rows"]["unchanged"], report["rows"]["held"]) == (3, 1)
    rejects = Path(report["rejects_file"])
    assert {"produtos", "parcelas"}.isdisjoint(load_workbook(rejects).sheetnames)
    book = load_workbook(rejects)
    orders = book["pedido"]
    orders.cell(2, header_of(orders).index("observacaoCR") + 1).value = None
    book.save(rejects)
    again = xlbridge("retry", rejects, *SENT, **environment)
    assert again.returncode == 0, again.stdout
    assert json.loads(again.stdout)["rows"]["unchanged"] == 1
