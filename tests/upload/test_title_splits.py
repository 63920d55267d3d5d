"""Titles with splits (``rateio``), sent one by one from a main sheet and its child sheet."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from environment import Xlbridge
from openpyxl import load_workbook
from sheets import GOOD, rows_of, write_workbook
from update_parts import Run

from xlbridge.client import Client
from xlbridge.wire.financial import PAYABLE_LIST_OPEN, RECEIVABLE_LIST_OPEN, PayableChange
from xlbridge.workbook import STATUS_COLUMNS

HALVES = (
    {"codigoDoCentroDeCusto": "01.001", "valor": 60},
    {"codigoDoCentroDeCusto": "01.002", "valor": 40},
)


def title(resource: str, document: str, **fields: Any) -> dict[str, Any]:
    """Return a row of a title of 100.00; its document number is also its key."""
    defaults = {"chave": document, "numeroDoDocumento": document, "valorDoLancamento": 100}
    return {**GOOD[resource], **defaults, "dataDeVencimento": date(2026, 12, 10), **fields}


def titles_of(client: Client, resource: str, document: str) -> list[dict[str, Any]]:
    """Return the open titles with a document number."""
    listing = RECEIVABLE_LIST_OPEN if resource == "contasreceber" else PAYABLE_LIST_OPEN
    found = client.records(listing, keep_unknown=True)
    return [dict(one) for one in found if one["numeroDoDocumento"] == document]


def splits_of(found: Mapping[str, Any]) -> list[tuple[str, float]]:
    return [(part["codigoDoCentroDeCusto"], float(part["valor"])) for part in found["rateio"]]


@pytest.fixture
def parties(client: Client, customer: int) -> dict[str, dict[str, int]]:
    """Client or supplier of the titles, by resource."""
    supplier = client.registry.suppliers.create(nomeComercial="Fornecedor do rateio")
    return {
        "contasreceber": {"codigoDoCliente": customer},
        "contaspagar": {"codigoDoFornecedor": int(supplier.codigoDoFornecedor or 0)},
    }


@pytest.mark.parametrize("resource", ["contasreceber", "contaspagar"])
def test_titles_are_created_with_their_splits(
    client: Client,
    run: Run,
    parties: Mapping[str, Mapping[str, int]],
    tmp_path: Path,
    resource: str,
) -> None:
    split, whole = (f"{resource}-{part}" for part in ("R", "W"))
    rows = [title(resource, document, **parties[resource]) for document in (split, whole)]
    parts = [{"chave": split, **part} for part in HALVES]
    path = write_workbook(tmp_path / "t.xlsx", **{resource: rows, "rateio": parts})
    code, report = run("upload", path, "--yes")
    assert (code, report["mode"], report["rows"]["created"]) == (0, "records", 2), report
    assert list(map(splits_of, titles_of(client, resource, split))) == [
        [("01.001", 60), ("01.002", 40)]
    ]
    assert list(map(splits_of, titles_of(client, resource, whole))) == [[]]
    _, again = run("upload", path, "--yes")
    assert again["plan"]["unchanged"] == 2

    parts[0]["valor"], parts[1]["valor"] = 50, 50
    write_workbook(path, **{resource: rows, "rateio": parts})
    _, held = run("upload", path, "--yes", "--update")
    assert (held["plan"]["unchanged"], held["plan"]["held"]) == (1, 1), held["plan"]
    reasons = {one["row"]: one["reason"] for one in held["not_created"]}
    assert reasons == {2: "cannot-change", 3: "same"}
    assert splits_of(titles_of(client, resource, split)[0])[0] == ("01.001", 60)


def test_a_title_whose_splits_were_removed_from_its_export_is_held(
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    parties: Mapping[str, Mapping[str, int]],
    tmp_path: Path,
) -> None:
    documents = ("removed-A", "removed-B")
    rows = [title("contaspagar", document, **parties["contaspagar"]) for document in documents]
    parts = [{"chave": document, **part} for document in documents for part in HALVES]
    run("upload", write_workbook(tmp_path / "t.xlsx", contaspagar=rows, rateio=parts), "--yes")
    path = tmp_path / "exported.xlsx"
    # The system has the titles of other tests, too.
    own = ("--supplier", parties["contaspagar"]["codigoDoFornecedor"])
    form = ("--as-template", "contaspagar", "-o", path)
    xlbridge("export", "contaspagar", *own, *form, **proxy_environment)
    book = load_workbook(path)
    names, *titles = rows_of(book["contaspagar"])
    keys = {row[names.index("numeroDoDocumento")]: row[names.index("chave")] for row in titles}
    items = book["rateio"]
    for row in range(items.max_row, 1, -1):
        if items.cell(row, 1).value == keys["removed-A"]:
            items.delete_rows(row)
    book.save(path)
    code, report = run("upload", path, "--yes")
    held = [one for one in report["not_created"] if one["action"] == "held"]
    assert (code, len(held), held[0]["reason"]) == (1, 1, "cannot-change"), held
    assert [one["column"] for one in held[0]["differences"]] == ["rateio"]
    assert held[0]["differences"][0]["yours"] is None
    # So is every title if no row of the sheet is left.
    items.delete_rows(2, items.max_row)
    book.save(path)
    code, report = run("upload", path, "--update", "--yes")
    held = [one for one in report["not_created"] if one["action"] == "held"]
    assert (code, [one["reason"] for one in held]) == (1, ["cannot-change"] * 2), held


def test_a_plan_shows_the_values_that_differ_in_an_edited_split(
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    parties: Mapping[str, Mapping[str, int]],
    tmp_path: Path,
) -> None:
    row = title("contaspagar", "edited", **parties["contaspagar"])
    parts = [{"chave": "edited", **part} for part in HALVES]
    run("upload", write_workbook(tmp_path / "t.xlsx", contaspagar=[row], rateio=parts), "--yes")
    edited = [parts[0] | {"valor": 59.5}, parts[1] | {"valor": 40.5}]
    path = write_workbook(tmp_path / "edited.xlsx", contaspagar=[row], rateio=edited)
    shown = xlbridge("--lang", "pt-BR", "upload", path, "--update", "--yes", **proxy_environment)
    assert "rateio, item 1, valor: planilha 59,50, sistema 60,00\n" in shown.stderr + shown.stdout
    assert "valor=" not in shown.stderr + shown.stdout


def test_a_status_copy_of_a_foreign_sheet_has_the_states_of_titles_and_splits(
    run: Run, parties: Mapping[str, Mapping[str, int]], tmp_path: Path
) -> None:
    names = {"chave": "Nº", "codigoDaFilial": "Loja"}
    first = title("contaspagar", "foreign", **parties["contaspagar"])
    names = {name: names.get(name, f"Coluna {at}") for at, name in enumerate(first)}
    rows = [{**first, "chave": 1000001 + at, "numeroDoDocumento": f"F{at}"} for at in range(2)]
    foreign = [{names[column]: value for column, value in row.items()} for row in rows]
    parts = [{"chave": str(row["chave"]), **part} for row in rows for part in HALVES]
    path = write_workbook(tmp_path / "t.xlsx", contaspagar=foreign, rateio=parts)
    columns = {column: {"from": header} for column, header in names.items()}
    mapping = {"version": 1, "resource": "contaspagar", "header": [*foreign[0]], "columns": columns}
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(mapping), "utf-8")
    copy = tmp_path / "copy.xlsx"
    options = ("--map", tmp_path / "m.yaml", "--annotate", copy)
    code, report = run("upload", path, "--yes", *options)
    assert (code, report["rows"]["created"]) == (0, 2), report
    book = load_workbook(copy)
    titles, splits = (
        [row[-4:] for row in book[sheet].iter_rows(values_only=True)]
        for sheet in ("contaspagar", "rateio")
    )
    assert titles[0] == splits[0] == tuple(column.en for column in STATUS_COLUMNS)
    codes = [code for *_, code in titles[1:]]
    assert titles[1:] == [("accepted", None, None, code) for code in codes]
    assert splits[1:] == [("accepted", None, None, code) for code in codes for _ in HALVES]
    assert len(set(codes)) == 2


def test_an_undo_leaves_titles_whose_splits_changed(
    client: Client, run: Run, parties: Mapping[str, Mapping[str, int]], tmp_path: Path
) -> None:
    documents = ("undo-A", "undo-B")
    rows = [title("contaspagar", document, **parties["contaspagar"]) for document in documents]
    parts = [{"chave": document, **part} for document in documents for part in HALVES]
    path = write_workbook(tmp_path / "t.xlsx", contaspagar=rows, rateio=parts)
    _, report = run("upload", path, "--yes")
    (other,) = titles_of(client, "contaspagar", "undo-B")
    key = ("codigoDoExercicio", "codigoDaFilial", "numeroDaTransacao", "sequenciaDaTransacao")
    names = dict(zip(("ex", "fil", "nrtrs", "seqtrs"), (other[name] for name in key), strict=True))
    found = client.financial.payables.get(**names)
    fields = found.model_dump(include=set(PayableChange.model_fields))
    split = [{"codigoDoCentroDeCusto": "01.001", "valor": 100}]
    client.financial.payables.update(**fields | {"rateio": split})
    code, undone = run("undo", report["job"], "--yes")
    assert (code, undone["rows"]) == (1, {"read": 2, "undone": 1, "left": 1, "unknown": 0}), undone
    assert [(one["row"], one["reason"]) for one in undone["left"]] == [(3, "changed")]
    assert [len(titles_of(client, "contaspagar", one)) for one in documents] == [0, 1]


def test_a_sheet_without_splits_is_imported(run: Run, customer: int, tmp_path: Path) -> None:
    row = title("contasreceber", "sem-rateio", codigoDoCliente=customer)
    path = write_workbook(tmp_path / "t.xlsx", contasreceber=[row])
    _, report = run("upload", path, "--yes")
    assert (report["mode"], report["rows"]["created"]) == ("queue", 1)


def test_splits_with_another_sum_than_their_title_are_reported(
    xlbridge: Xlbridge, tmp_path: Path
) -> None:
    parts = [{"chave": "T", **part} for part in (*HALVES, {"valor": 0.01})]
    path = write_workbook(
        tmp_path / "t.xlsx", contasreceber=[title("contasreceber", "T")], rateio=parts
    )
    output = xlbridge("validate", path)
    assert output.returncode == 1
    assert "The sum of valor for the key 'T' is 100.01, not 100.00." in output.stdout
    assert "C2='60'" in output.stdout


@pytest.mark.parametrize("mode", ["queue", "direct", "preview"])
def test_a_mode_without_splits_is_refused_with_a_hint(
    xlbridge: Xlbridge, proxy_environment: dict[str, str], tmp_path: Path, mode: str
) -> None:
    parts = [{"chave": "T", **part} for part in HALVES]
    path = write_workbook(
        tmp_path / "t.xlsx", contasreceber=[title("contasreceber", "T")], rateio=parts
    )
    refused = xlbridge("upload", path, "--yes", "--mode", mode, **proxy_environment)
    assert refused.returncode == 2
    assert f"The mode {mode} does not accept the sheets rateio." in refused.stderr
    assert "--mode records" in refused.stderr
