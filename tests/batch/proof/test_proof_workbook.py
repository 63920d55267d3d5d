"""The proof's workbook: complete, and without anything that Excel would run.

Inside: batch.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from libreoffice import save_with_libreoffice
from openpyxl import load_workbook
from openpyxl.workbook import Workbook
from proof_parts import HOSTILE, Proof

from xlbridge.batch.proof_content import proof_content, proof_report
from xlbridge.i18n import override_language, set_language, untranslated
from xlbridge.workbook.write import write_report


def written(tmp_path: Path, proof: Proof) -> Workbook:
    path = tmp_path / "proof.xlsx"
    proof_report(proof).workbook(path)
    return load_workbook(path)


def lines(book: Workbook, sheet: str) -> Iterator[list[object]]:
    return ([cell.value for cell in row] for row in book[sheet].iter_rows())


def test_the_cover_lists_open_items(tmp_path: Path, month: Proof) -> None:
    book = written(tmp_path, month)
    cover = [line[0] for line in lines(book, "Proof")]
    assert cover[:3] == ["Closing proof · fechamento", None, "Open: 10. Read back: 5 of 12 rows."]
    facts = {line[0]: line[1] for line in lines(book, "Proof")}
    assert facts["Environment"] == "rehearsal"
    assert facts["Proven at"] == "02/11/2026 08:30:00"
    assert facts["Month"] == "10/2026"
    assert facts["Rows"] == (
        "read 12 · 8 accepted · 0 unchanged · 0 waiting for you · 1 rejected · "
        "2 in doubt · 1 not sent"
    )
    assert book.sheetnames == [
        "Proof",
        "Control totals",
        "Steps",
        "Differences",
        "Open rows",
        "Rejected, and waiting for you",
        "Read-back",
        "Exports",
        "Workbooks",
        "Uploads",
        "Source",
    ]
    shown = [str(value) for line in lines(book, "Proof") for value in line if value]
    assert {"Signatures", "Prepared by"} <= set(shown)
    assert month.title.plan_sha256 in str(list(lines(book, "Source")))
    assert month.title.plan_sha256 not in shown


def test_pages_and_holes_are_in_the_language_of_the_proof(tmp_path: Path, month: Proof) -> None:
    """An export in the ledger may have been in another language."""
    for language, paging, sheet, hole in (
        ("en", "&P of &N", "Exports", "Some may be missing"),
        ("pt-BR", "&P de &N", "Exportações", "Pode faltar: vieram 500"),
    ):
        with override_language(language):
            book = written(tmp_path, month)
        assert {sheet.oddFooter.right.text for sheet in book} == {paging}
        assert hole in {cell.value for row in book[sheet].iter_rows() for cell in row}


def test_amounts_are_numbers_and_exact(tmp_path: Path, month: Proof) -> None:
    book = written(tmp_path, month)
    (october,) = [line for line in lines(book, "Control totals") if line[0] == "10/2026"]
    assert october[1:] == [5, 0, 5, 0, 6170.5, 0, 6170.51, 0.01]
    # What was sent of each resource is a picture on the first page, too.
    charts = book.worksheets[0]._charts
    assert {one.series[0].val.numRef.f.partition("!$")[2][0] for one in charts} == {"D"}
    # Bars begin at zero, so that their lengths compare.
    assert {one.y_axis.scaling.min for one in charts} == {0}
    day = [line for line in lines(book, "Control totals") if line[0] == datetime(2026, 10, 31)]
    assert len(day) == 1


def test_columns_and_resources_have_titles_for_people(tmp_path: Path, month: Proof) -> None:
    book = written(tmp_path, month)
    named = {value for sheet in book for line in lines(book, sheet.title) for value in line}
    shown = "\n".join(map(str, named))
    columns = {cell.column for cell in month.cells} | {
        name for row in month.rows for name in row.key
    }
    assert columns
    assert not [name for name in columns if name in shown]
    assert {"Receivable entries", "Clients"} <= named


def test_text_is_never_a_formula(tmp_path: Path, month: Proof) -> None:
    book = written(tmp_path, month)
    hostile = [
        cell for row in book["Differences"].iter_rows() for cell in row if cell.value == HOSTILE
    ]
    assert [cell.data_type for cell in hostile] == ["s"]
    for sheet in book:
        assert not any(cell.data_type == "f" for row in sheet.iter_rows() for cell in row)


def test_unusual_names_and_long_texts_are_written(tmp_path: Path, month: Proof) -> None:
    title = replace(month.title, batch="lote \udcff" * 60, parameters={"nota": "x" * 40_000})
    book = written(tmp_path, replace(month, title=title))
    facts = {line[0]: line[1] for line in lines(book, "Proof")}
    assert facts["Parameter nota"] == "x" * 32_767
    assert "lote ?" in str(book["Proof"]["A1"].value)


def test_digests_and_uploads_are_all_there(tmp_path: Path, month: Proof) -> None:
    book = written(tmp_path, month)
    files = [file for files in month.steps.values() for file in files]
    sheets = {value for line in lines(book, "Workbooks") for value in line}
    assert {file.file.sha256 for file in files} <= sheets
    uploads = {value for line in lines(book, "Uploads") for value in line}
    jobs = [job for file in files for job in file.jobs]
    assert len(jobs) == 5
    assert {job.spec.payload for job in jobs} | {job.id for job in jobs} <= uploads


def test_the_same_proof_gives_the_same_bytes(tmp_path: Path, month: Proof) -> None:
    one, two = tmp_path / "one.xlsx", tmp_path / "two.xlsx"
    proof_report(month).workbook(one)
    time.sleep(1.1)  # The form has times of whole seconds.
    proof_report(replace(month)).workbook(two)
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("most", [1000, 30])
def test_a_long_table_is_complete(tmp_path: Path, month: Proof, most: int) -> None:
    many = replace(month, cells=month.cells * 40)
    path = tmp_path / "proof.xlsx"
    write_report(
        proof_content(many),
        path,
        cover=untranslated("Proof"),
        signature=("made", "by a test"),
        max_lines=most,
    )
    book = load_workbook(path)
    sheets = [name for name in book.sheetnames if name.startswith("Differences")]
    assert len(sheets) == (1 if most == 1000 else 3)
    rows = [line for name in sheets for line in lines(book, name) if "receber" in line]
    assert len(rows) == 80


@pytest.mark.programs
def test_it_is_written_in_portuguese_and_opens_in_libreoffice(tmp_path: Path, month: Proof) -> None:
    set_language("pt-BR")
    try:
        written(tmp_path, month)
    finally:
        set_language("en")
    (again,) = save_with_libreoffice([tmp_path / "proof.xlsx"], tmp_path / "saved")
    book = load_workbook(again)
    assert book.sheetnames[:3] == ["Prova", "Totais de controle", "Etapas"]
    assert book["Prova"]["A3"].value == "Em aberto: 10. Conferidas no sistema: 5 de 12 linhas."
