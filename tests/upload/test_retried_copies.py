"""Status copies are retried as the workbook was sent: with its sheet and its links."""

import json
from pathlib import Path

from environment import Xlbridge, credentials
from openpyxl import Workbook, load_workbook
from sheets import GOOD
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
