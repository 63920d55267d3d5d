"""A key that is corrected in a sheet that was sent before adds no second record."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from databases import database_options
from environment import Xlbridge, clean_environment
from lookup_parts import keyed_row, write_row
from lossy_proxy import LossyProxy
from openpyxl import load_workbook
from sampling import every
from sandboxes import sandbox_process
from sheets import data_sheet, edit, header_of, write_records
from update_parts import Run, writes
from upload_parts import new_cnpj

from xlbridge.sandbox import RunningSandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Sandbox of the demo company, whose registries the rows refer to."""
    folder = tmp_path_factory.mktemp("corrected-keys")
    options = ["--seed", "demo", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder), few=True) as running:
        yield running


CORRECTIONS: dict[str, tuple[str, Any]] = {
    "cliente": ("cnpj", None),
    "fornecedor": ("cnpj", None),
    "clientecontato": ("nome", "Rita de Souza"),
    "contaspagar": ("dataDeVencimento", date(2026, 12, 4)),
    "contasreceber": ("dataDeVencimento", date(2026, 12, 4)),
    "produto": ("codigoInterno", "P-9"),
    "planejamento": ("mes", 2),
}
"""A column of the key of each resource whose rows have more than a key, and its new value."""


@pytest.mark.parametrize("resource", every(2, CORRECTIONS))
def test_a_corrected_key_is_held_for_the_record_that_was_sent(
    proxy: LossyProxy, run: Run, tmp_path: Path, resource: str
) -> None:
    column, value = CORRECTIONS[resource]
    row = keyed_row(resource)
    row = {
        name: one
        for name, one in row.items()
        if name not in {"idws", "codigoDeBarras", "seuCodigo"}
    }
    if resource == "clientecontato":
        row["email"] = "rita@example.com"
    path = write_row(tmp_path / "planilha.xlsx", resource, row)
    code, report = run("upload", path, "--yes")
    assert (code, report["rows"]["created"]) == (0, 1), report
    job = report["job"]
    write_row(path, resource, row | {column: new_cnpj() if value is None else value})
    proxy.seen.clear()
    for options in ((), ("--update",), ("--update-only",)):
        code, report = run("upload", path, *options, "--yes")
        (held,) = report["not_created"]
        assert (code, held["action"], held["reason"]) == (1, "held", "sent-otherwise"), held
        assert f"upload {job}, row 2: record " in held["message"]
        assert writes(proxy) == []
    code, report = run("upload", path, "--again", "é outro", "--yes")
    assert (code, report["rows"]["created"]) == (0, 1), report


def open_titles(http: httpx.Client, document: str) -> list[tuple[str, str]]:
    """Return document and due date of the open payables whose document begins so."""
    found = http.get("/v2/financeiro/contaspagar").json()["data"]
    return sorted(
        (one["numeroDoDocumento"], one["dataDeVencimento"][:10])
        for one in found
        if (one["numeroDoDocumento"] or "").startswith(document)
    )


@pytest.fixture
def bills(tmp_path: Path, run: Run) -> tuple[Path, str]:
    """Workbook of three payables that was sent, and what their documents begin with."""
    document = f"B-{new_cnpj()}"
    due = date(2026, 12, 3)
    rows = [
        {
            "numeroDoDocumento": f"{document}-{n}",
            "dataDeVencimento": due,
            "valorDoLancamento": 90.0 + n,
        }
        for n in range(3)
    ]
    path = write_records(tmp_path / "contas.xlsx", "contaspagar", rows)
    code, report = run("upload", path, "--yes")
    assert (code, report["rows"]["created"]) == (0, 3), report
    return path, document


@pytest.mark.parametrize(
    ("column", "value"),
    [("numeroDoDocumento", "B-corrigido"), ("dataDeVencimento", date(2027, 1, 4))],
)
def test_the_other_rows_are_sent_and_an_export_changes_the_record(
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    tmp_path: Path,
    http: httpx.Client,
    bills: tuple[Path, str],
    column: str,
    value: Any,
) -> None:
    path, document = bills
    before = open_titles(http, document)
    edit(path, column, 3, value)
    edit(path, "historico", 4, "Corrigido")
    code, report = run("upload", path, "--update", "--yes")
    assert (code, report["plan"]) == (
        1,
        {"create": 0, "update": 1, "unchanged": 1, "held": 1, "unread": 0},
    ), report
    assert open_titles(http, document) == before
    (held,) = [one for one in report["not_created"] if one["action"] == "held"]
    assert "--as-template contaspagar" in held["message"]
    exported = tmp_path / "exportada.xlsx"
    options = ("-o", exported, "--as-template", "contaspagar")
    ended = xlbridge("export", "contaspagar", *options, **proxy_environment)
    assert ended.returncode == 0, ended.stderr
    sheet = data_sheet(load_workbook(exported))
    at = header_of(sheet).index("numeroDoDocumento")
    found = [row[at].value for row in sheet.rows].index(f"{document}-1")
    edit(exported, column, found + 1, value)
    code, report = run("upload", exported, "--update", "--yes")
    assert (code, report["rows"]["updated"], report["rows"]["created"]) == (0, 1, 0), report
    code, report = run("upload", path, "--yes")
    assert (code, report["plan"]["unchanged"]) == (0, 3), report


def test_rows_of_the_next_month_in_the_same_file_are_new(
    run: Run, http: httpx.Client, bills: tuple[Path, str]
) -> None:
    path, document = bills
    for row in (2, 3, 4):
        edit(path, "numeroDoDocumento", row, f"{document}-jan-{row}")
        edit(path, "dataDeVencimento", row, date(2027, 1, 3))
    code, report = run("upload", path, "--yes")
    assert (code, report["rows"]["created"]) == (0, 3), report
    assert len(open_titles(http, document)) == 6


def test_a_row_added_beside_the_one_that_was_sent_is_new(
    run: Run, http: httpx.Client, bills: tuple[Path, str]
) -> None:
    path, document = bills
    book = load_workbook(path)
    sheet = data_sheet(book)
    names = header_of(sheet)
    values = [cell.value for cell in sheet[2]]
    values[names.index("dataDeVencimento")] = date(2027, 1, 3)
    sheet.append(values)
    book.save(path)
    code, report = run("upload", path, "--yes")
    assert (code, report["rows"]["created"], report["plan"]["unchanged"]) == (0, 1, 3), report
    assert len(open_titles(http, document)) == 4


def test_update_only_creates_nothing(
    run: Run, proxy: LossyProxy, http: httpx.Client, bills: tuple[Path, str]
) -> None:
    path, document = bills
    edit(path, "historico", 2, "Corrigido")
    edit(path, "numeroDoDocumento", 3, f"{document}-nova")
    edit(path, "valorDoLancamento", 3, 1.5)
    code, report = run("upload", path, "--update-only", "--yes")
    assert (report["plan"]["update"], report["plan"]["held"], report["plan"]["create"]) == (1, 1, 0)
    (held,) = [one for one in report["not_created"] if one["action"] == "held"]
    assert (code, held["reason"]) == (1, "not-in-system")
    assert len(open_titles(http, document)) == 3
