"""Workbooks that leave for a person and come back are what their job says, row by row."""

from collections.abc import Callable
from pathlib import Path

import pytest
from environment import Xlbridge
from lossy_proxy import LossyProxy
from openpyxl import load_workbook
from sheets import column_of, data_sheet, edit, header_of, write_records
from update_parts import Run, titles, writes
from upload_parts import MakeClients

from xlbridge.client import Client


def payables(name: str, count: int, *, wrong: tuple[int, ...] = ()) -> list[dict[str, object]]:
    """Return payables with documents of their own; some have an unknown account."""
    return [
        {
            "numeroDoDocumento": f"{name}-{number}",
            "dataDeVencimento": "2026-12-01",
            "codigoDaContaCorrente": 99999 if number in wrong else 1,
        }
        for number in range(count)
    ]


def test_rows_of_the_queue_have_the_codes_of_their_records(
    run: Run, xlbridge: Xlbridge, proxy_environment: dict[str, str], tmp_path: Path, client: Client
) -> None:
    path = write_records(tmp_path / "fila.xlsx", "contaspagar", payables("FILA", 3))
    code, report = run("upload", path, "--mode", "queue", "--yes")
    assert (code, report["rows"]["accepted"]) == (0, 3)
    copy = tmp_path / "copia.xlsx"
    assert xlbridge("jobs", report["job"], "--annotate", copy, **proxy_environment).returncode == 0
    codes = column_of(copy, "Code in the system")
    known = {"/".join(map(str, key)) for key in titles(client)}
    assert len({*codes}) == 3
    assert known.issuperset(codes)


def test_an_unsent_job_is_not_resumed_with_another_workbook_than_planned(
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    tmp_path: Path,
    proxy: LossyProxy,
) -> None:
    path = write_records(tmp_path / "valor.xlsx", "contaspagar", payables("VALOR", 1))
    asked = xlbridge("upload", path, **proxy_environment)
    assert asked.returncode == 2
    job = run("jobs")[1]["jobs"][0]["job"]
    edit(path, "valorDoLancamento", 2, 77.0)
    proxy.seen.clear()
    refused = xlbridge("resume", job, "--yes", **proxy_environment)
    assert refused.returncode == 2
    assert f"has changed since the upload {job} was planned" in refused.stderr
    assert "xlbridge upload " in refused.stderr
    assert writes(proxy) == []
    assert run("upload", path, "--yes")[1]["rows"]["created"] == 1


Rejected = Callable[..., tuple[str, Path]]


@pytest.fixture
def rejected(run: Run, tmp_path: Path) -> Rejected:
    """Upload payables of which some are rejected; return the job and its rejects workbook."""

    def upload(name: str, *wrong: int) -> tuple[str, Path]:
        path = write_records(
            tmp_path / f"{name}.xlsx", "contaspagar", payables(name, 5, wrong=wrong)
        )
        code, report = run("upload", path, "--mode", "queue", "--yes")
        assert (code, report["rows"]["rejected"]) == (1, len(wrong))
        return report["job"], Path(report["rejects_file"])

    return upload


def test_a_rejects_workbook_needs_no_job_and_belongs_to_one(
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    rejected: Rejected,
    proxy: LossyProxy,
) -> None:
    first, rejects = rejected("UM", 2)
    second, others = rejected("DOIS", 3)
    edit(rejects, "codigoDaContaCorrente", 2, 1)
    edit(others, "codigoDaContaCorrente", 2, 1)
    proxy.seen.clear()
    refused = xlbridge("retry", first, "--file", others, "--yes", **proxy_environment)
    assert refused.returncode == 2
    assert f"belongs to the upload {second}, not to {first}" in refused.stderr
    assert writes(proxy) == []
    code, report = run("retry", rejects, "--yes")
    assert (code, report["rows"]["created"]) == (0, 1)
    shown = run("jobs", first)[1]
    assert shown["settled"] == {"rows": 1, "by": report["job"]}
    assert (shown["rows"]["accepted"], shown["rows"]["rejected"]) == (5, 0)
    assert run("jobs", second)[1]["rows"]["rejected"] == 1


def test_a_rejects_workbook_begins_with_what_became_of_the_rows(rejected: Rejected) -> None:
    _, rejects = rejected("RESUMO", 1, 3)
    book = load_workbook(rejects)
    summary, sheet = book.worksheets[:2]
    shown = [row for row in summary.iter_rows(values_only=True) if any(row)]
    assert {row[0]: row[1:3] for row in shown if row[0] in {"Accepted", "Rejected"}} == {
        "Accepted": (3, 285.0),
        "Rejected": (2, 190.0),
    }
    of_all, of_open, *of_written = (row[1:3] for row in shown if row[0] == "Total")
    assert (of_all, of_open, set(of_written)) == ((5, 475.0), (2, 190.0), {(3, 285.0)})
    assert f"xlbridge retry {rejects.name}" in str(shown)
    # On one page of paper, with the reason beside the cells that are scrolled to.
    assert sheet.sheet_properties.pageSetUpPr.fitToPage
    assert sheet.freeze_panes == "C2"
    wrong = sheet.cell(2, header_of(sheet).index("codigoDaContaCorrente") + 1)
    reason = sheet["B2"].value
    assert reason.startswith("Current account code: ")
    assert sheet["C2"].value == "Correct the coloured cells."
    assert wrong.comment.text == f"{reason}\n{sheet['C2'].value}"


def test_a_rejected_row_may_become_two(run: Run, rejected: Rejected, client: Client) -> None:
    before = len(titles(client))
    _, rejects = rejected("METADE", 1, 3)
    book = load_workbook(rejects)
    sheet = data_sheet(book)
    header = header_of(sheet)
    values = [sheet.cell(2, at + 1).value for at in range(len(header))]
    sheet.insert_rows(3)
    for at, value in enumerate(values):
        sheet.cell(3, at + 1).value = value
    for row, document in ((2, "METADE-a"), (3, "METADE-b"), (4, "METADE-c")):
        sheet.cell(row, header.index("codigoDaContaCorrente") + 1).value = 1
        sheet.cell(row, header.index("numeroDoDocumento") + 1).value = document
    book.save(rejects)
    code, report = run("retry", rejects, "--yes")
    assert (code, report["rows"]["created"], report["rows"]["held"]) == (0, 3, 0)
    assert len(titles(client)) == before + 3 + 3


def test_the_original_row_is_named_in_every_round(
    run: Run, rejected: Rejected, make_clients: MakeClients, client: Client
) -> None:
    job, rejects = rejected("VOLTA", 0, 2, 4)
    assert column_of(rejects, "Original row") == [2, 4, 6]
    edit(rejects, "codigoDaContaCorrente", 2, 1)
    code, report = run("retry", rejects, "--yes")
    assert (code, report["rows"]["created"]) == (1, 1)
    second = Path(report["rejects_file"])
    assert column_of(second, "Original row") == [4, 6]
    edit(second, "codigoDaContaCorrente", 3, 1)
    code, report = run("retry", second, "--yes")
    assert column_of(Path(report["rejects_file"]), "Original row") == [4]
    assert run("jobs", job)[1]["rows"]["rejected"] == 1


def test_a_status_copy_comes_back_as_the_workbook_that_was_sent(
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    rejected: Rejected,
    tmp_path: Path,
) -> None:
    job, _ = rejected("VOLTOU", 1)
    copy = tmp_path / "copia.xlsx"
    assert xlbridge("jobs", job, "--annotate", copy, **proxy_environment).returncode == 0
    edit(copy, "codigoDaContaCorrente", 3, 1)
    code, report = run("retry", copy, "--yes")
    assert (code, report["rows"]["created"], report["rows"]["unchanged"]) == (0, 1, 4)
    assert run("jobs", job)[1]["rows"]["accepted"] == 5
