"""Rows of the sheet over HTTP: found, replaced, sorted, filtered, filled, inserted, deleted."""

from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from environment import clean_environment, credentials
from forked import Zygote
from openpyxl import load_workbook
from openpyxl.comments import Comment
from openpyxl.utils import get_column_letter
from running_page import open_workbook, running_page
from sheets import GOOD, write_clients, write_records
from xlsxwriter import Workbook

from xlbridge import validate
from xlbridge.sandbox import RunningSandbox

HEADER = list(GOOD["contasreceber"])
AMOUNT, DUE, TEXT = (
    HEADER.index(name) for name in ("valorDoLancamento", "dataDeVencimento", "historico")
)
ALL = {"view": "all", "renew": 1, "count": 500}


@pytest.fixture
def sheet(client: httpx.Client, tmp_path: Path) -> dict[str, Any]:
    """Six receivables; the fifth has a wrong amount."""
    amounts = (30, 9.5, 1234.5, 9.5, "dez", 100)
    records = [
        {
            "valorDoLancamento": amount,
            "historico": f"Serviço {number} ABC",
            "dataDeVencimento": date(2026, 10, 30 - number),
        }
        for number, amount in enumerate(amounts, start=1)
    ]
    return open_workbook(client, write_records(tmp_path / "t.xlsx", "contasreceber", records))


def post(client: httpx.Client, request: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/{request}", json=body)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def shown(client: httpx.Client, column: int | None = None, view: str = "all") -> list[Any]:
    """Return the numbers of the rows of a view, or the texts of a column."""
    rows = client.get("/api/rows", params={**ALL, "view": view}).json()["rows"]
    return [row["row"] if column is None else row["cells"][column] for row in rows]


def block(first: int, last: int, column: int, **more: Any) -> dict[str, Any]:
    return {"view": "all", "first": first, "last": last, "left": column, "right": column, **more}


def copied(client: httpx.Client, path: Path) -> Path:
    path.write_bytes(client.get("/api/workbook").content)
    return path


@pytest.mark.usefixtures("sheet")
def test_a_text_is_found_in_all_rows(client: httpx.Client) -> None:
    place = {"row": 2, "at": TEXT, "view": "all"}
    for sought, count, following in (
        ({"text": "abc", "whole": 0}, 6, (3, TEXT)),
        ({"text": "9,5", "whole": 0}, 0, None),
        ({"text": "9.50", "whole": 1}, 2, (3, AMOUNT)),
        ({"text": "1", "whole": 0, "column": TEXT}, 1, (2, TEXT)),
        ({"text": "abc", "whole": 1}, 0, None),
        ({"text": "valorDo", "whole": 0}, 0, None),  # the header is no row
        ({"text": "", "whole": 0}, 0, None),
    ):
        found = client.get("/api/find", params=place | sought).json()
        assert found["count"] == count, sought
        assert (found["row"] and (found["row"], found["column"])) == following, sought
    # The view of wrong rows has one with the text; a text of others is found outside the view.
    place["view"] = "wrong"
    found = client.get("/api/find", params=place | {"text": "abc", "whole": 0}).json()
    assert (found["row"], found["position"]) == (6, 0)
    found = client.get("/api/find", params=place | {"text": "1 abc", "whole": 0}).json()
    assert (found["row"], found["position"]) == (2, None)


def test_a_text_is_replaced_in_one_cell_and_in_all(
    client: httpx.Client, sheet: dict[str, Any], tmp_path: Path
) -> None:
    sought = {"text": "abc", "whole": False, "by": "xyz", "column": None, "only": None}
    listed = client.get("/api/replacements", params={"text": "abc", "whole": 0, "by": "xyz"}).json()
    assert (listed["count"], listed["cells"][0]["after"]) == (6, "Serviço 1 xyz")
    assert post(client, "find-replace", **{**sought, "only": [3, TEXT]})["edited"] == 1
    assert post(client, "find-replace", **sought)["edited"] == 6
    assert post(client, "step", step="undo")["edited"] == 1
    replaced = {"text": "xyz", "whole": 0, "row": 2, "at": TEXT, "view": "all"}
    assert client.get("/api/find", params=replaced).json()["count"] == 1
    post(client, "step", step="redo")
    assert client.get("/api/find", params=replaced).json()["count"] == 6
    # A text that becomes a number is one.
    amount = {**sought, "text": "dez", "whole": True, "by": "10", "column": AMOUNT}
    assert post(client, "find-replace", **amount)["errors"] == sheet["errors"] - 1
    frame = validate(copied(client, tmp_path / "copy.xlsx")).frame
    assert list(frame["historico"]) == [f"Serviço {n} xyz" for n in range(1, 7)]
    assert float(frame["valorDoLancamento"].iloc[4]) == 10


def test_formulas_are_found_and_not_replaced(client: httpx.Client, tmp_path: Path) -> None:
    path = write_records(tmp_path / "f.xlsx", "contasreceber", [{}, {}])
    book = Workbook(tmp_path / "g.xlsx")
    sheet = book.add_worksheet("t")
    for row, cells in enumerate(load_workbook(path).worksheets[0].iter_rows(values_only=True)):
        sheet.write_row(row, 0, cells)
    sheet.write_formula(1, AMOUNT, "=5+5", None, 10)
    sheet.write(2, AMOUNT, 10)
    book.close()
    open_workbook(client, tmp_path / "g.xlsx")
    sought = {"text": "10.00", "whole": 1, "column": AMOUNT}
    place = {"row": 2, "at": 0, "view": "all"}
    assert client.get("/api/find", params=sought | place).json()["count"] == 2
    assert client.get("/api/replacements", params=sought | {"by": "7"}).json()["count"] == 1
    assert post(client, "find-replace", **sought, by="7", only=None)["edited"] == 1


def test_rows_are_sorted_by_values_in_the_view_alone(
    client: httpx.Client, sheet: dict[str, Any], tmp_path: Path
) -> None:
    assert sheet["layout"]["sort"] is None
    ascending = [3, 5, 2, 7, 4, 6]
    for column, descending, rows in (
        (AMOUNT, False, ascending),
        (AMOUNT, True, [6, 4, 7, 2, 3, 5]),
        (DUE, False, [7, 6, 5, 4, 3, 2]),
    ):
        layout = {"sort": {"column": column, "descending": descending}}
        assert post(client, "layout", layout=layout)["layout"]["sort"]["column"] == column
        assert shown(client) == rows
    client.post("/api/edit", json=[{"row": 6, "column": TEXT, "value": "Serviço 10 ABC"}])
    post(client, "layout", layout={"sort": {"column": TEXT}})
    assert shown(client) == [2, 3, 4, 5, 7, 6]
    post(client, "layout", layout={"sort": {"column": DUE}})
    client.post("/api/edit", json=[{"row": 6, "column": TEXT, "value": "Serviço 5 ABC"}])
    (draft,) = client.get("/api/drafts").json()["drafts"]
    kept = post(client, "continue", id=draft["id"])
    assert kept["layout"]["sort"] == {"column": DUE, "descending": False}
    assert shown(client) == [7, 6, 5, 4, 3, 2]
    frame = validate(copied(client, tmp_path / "copy.xlsx")).frame
    assert list(frame["historico"]) == [f"Serviço {n} ABC" for n in range(1, 7)]


@pytest.mark.usefixtures("sheet")
def test_rows_are_filtered_by_columns(client: httpx.Client) -> None:
    values = client.get("/api/column-values", params={"column": AMOUNT}).json()["values"]
    assert {"value": "9.50", "count": 2} in values
    of_values = {AMOUNT: {"values": ["9.50", "dez"]}}
    for filters, rows in (
        (of_values, [3, 5, 6]),
        (of_values | {TEXT: {"contains": "4 ab"}}, [5]),
        ({AMOUNT: {"contains": "", "values": []}}, []),
    ):
        post(client, "layout", layout={"filters": filters})
        assert shown(client) == rows
    # Corrected rows remain until the view is renewed.
    post(client, "layout", layout={"filters": of_values})
    assert shown(client) == [3, 5, 6]
    client.post("/api/edit", json=[{"row": 3, "column": AMOUNT, "value": "8"}])
    assert client.get("/api/rows", params={**ALL, "renew": 0}).json()["total"] == 3
    assert shown(client) == [5, 6]
    narrowed = {"column": AMOUNT, "contains": "9"}
    assert client.get("/api/column-values", params=narrowed).json()["values"] == [
        {"value": "9.50", "count": 1}
    ]
    wrong = client.post("/api/layout", json={"layout": {"filters": {99: {"contains": "x"}}}})
    assert wrong.status_code == 422


@pytest.mark.usefixtures("sheet")
@pytest.mark.parametrize(
    ("column", "listed"),
    [
        (AMOUNT, ["9.50", "30.00", "100.00", "1,234.50", "dez"]),
        (DUE, [f"{day}/10/2026" for day in range(24, 30)]),
    ],
)
def test_the_values_of_a_filter_are_in_their_order(
    client: httpx.Client, column: int, listed: list[str]
) -> None:
    values = client.get("/api/column-values", params={"column": column}).json()["values"]
    assert [one["value"] for one in values] == listed


@pytest.mark.parametrize(
    ("seeds", "column", "filled"),
    [
        (["5"], AMOUNT, ["6.00", "7.00"]),
        (["5", "7.5"], AMOUNT, ["10.00", "12.50"]),
        (["2026-10-30"], DUE, ["31/10/2026", "01/11/2026"]),
        (["30/09/2026", "31/10/2026"], DUE, ["30/11/2026", "31/12/2026"]),
        (["15/11/2026", "15/01/2027"], DUE, ["15/03/2027", "15/05/2027"]),
        (["NF-098", "NF-099"], TEXT, ["NF-100", "NF-101"]),
        (["Juros"], TEXT, ["Juros", "Juros"]),
        (["2", "0"], AMOUNT, ["-2.00", "-4.00"]),
        (["0"], AMOUNT, ["1.00", "2.00"]),
        (["5", "5"], AMOUNT, ["5.00", "5.00"]),
        (["01/10/2026", "01/10/2026"], DUE, ["01/10/2026", "01/10/2026"]),
        (["31/10/2026"], DUE, ["01/11/2026", "02/11/2026"]),
        (["NF-098", "NF-098"], TEXT, ["NF-098", "NF-098"]),
    ],
)
@pytest.mark.usefixtures("sheet")
def test_a_series_is_continued(
    client: httpx.Client, seeds: list[str], column: int, filled: list[str]
) -> None:
    cells = [{"row": 2 + n, "column": column, "value": text} for n, text in enumerate(seeds)]
    last = 1 + len(seeds) + len(filled)
    cells += [
        {"row": row, "column": column, "value": ""} for row in range(2 + len(seeds), last + 1)
    ]
    client.post("/api/edit", json=cells)
    post(client, "fill", **block(2, last, column, series=True))
    assert shown(client, column)[len(seeds) : last - 1] == filled
    post(client, "step", step="undo")
    assert shown(client, column)[len(seeds) : last - 1] == [""] * len(filled)


@pytest.mark.usefixtures("sheet")
def test_a_series_replaces_cells_that_do_not_continue_its_first_one(client: httpx.Client) -> None:
    texts = ("NF-01", "Juros 7", "01/10/2026")
    cells = [{"row": 2 + n, "column": TEXT, "value": text} for n, text in enumerate(texts)]
    client.post("/api/edit", json=cells)
    post(client, "fill", **block(2, 4, TEXT, series=True))
    assert shown(client, TEXT)[:3] == ["NF-01", "NF-02", "NF-03"]


@pytest.mark.usefixtures("sheet")
def test_erasing_empty_cells_is_no_change(client: httpx.Client) -> None:
    last = shown(client)[-1]
    empty = [{"row": last, "column": column, "value": ""} for column in (AMOUNT, DUE, TEXT)]
    erased = client.post("/api/edit", json=empty).json()
    assert (erased["edited"], erased["undo"], shown(client)[-1]) == (0, "", last)
    filled = [
        {"row": last + n, "column": TEXT, "value": text} for n, text in enumerate(["a", "", "b"])
    ]
    pasted = client.post("/api/edit", json=filled).json()
    assert (pasted["edited"], shown(client)[-1]) == (3, last + 3)
    again = client.post("/api/edit", json=[filled[1] | {"value": ""}]).json()
    assert (again["edited"], again["undo"]) == (3, pasted["undo"])


@pytest.mark.usefixtures("sheet")
def test_cells_are_filled_down_in_the_order_of_the_view(client: httpx.Client) -> None:
    post(client, "layout", layout={"sort": {"column": DUE}})
    post(client, "fill", **block(7, 4, TEXT, series=False))
    post(client, "layout", layout={})
    number = [text.split()[1] for text in shown(client, TEXT)[:-1]]
    assert number == ["1", "2", "6", "6", "6", "6"]
    gone = client.post("/api/fill", json=block(2, 99, TEXT, series=False))
    assert "have changed" in gone.json()["error"]["message"]


def test_rows_are_inserted_and_deleted_as_single_steps(
    client: httpx.Client, sheet: dict[str, Any], tmp_path: Path
) -> None:
    assert shown(client) == [2, 3, 4, 5, 6, 7, 8]
    inserted = post(client, "insert-rows", above=3, count=2)
    assert (inserted["rows"], inserted["undo"]) == (6, "new rows 8, 9 are removed")
    assert shown(client) == [2, 3, 8, 9, 4, 5, 6, 7, 10]
    post(client, "insert-rows", above=None, count=1)
    assert shown(client) == [10, 2, 3, 8, 9, 4, 5, 6, 7, 11]
    client.post("/api/edit", json=[{"row": 8, "column": TEXT, "value": "Novo"}])
    deleted = post(client, "delete-rows", **block(9, 6, TEXT))
    assert (deleted["undo"], deleted["errors"]) == ("rows 4, 5, 6, 9 come back", 5)
    assert shown(client) == [10, 2, 3, 8, 7, 11]
    (draft,) = client.get("/api/drafts").json()["drafts"]
    post(client, "continue", id=draft["id"])
    assert shown(client) == [10, 2, 3, 8, 7, 11]
    frame = validate(copied(client, tmp_path / "copy.xlsx")).frame
    assert list(frame["historico"]) == ["Serviço 1 ABC", "Serviço 2 ABC", "Novo", "Serviço 6 ABC"]
    open_workbook(client, tmp_path / "t.xlsx")
    post(client, "insert-rows", above=3, count=2)
    post(client, "delete-rows", **block(8, 5, TEXT))
    for step, rows in (
        ("undo", [2, 3, 8, 9, 4, 5, 6, 7, 10]),
        ("undo", [2, 3, 4, 5, 6, 7, 8]),
        ("redo", [2, 3, 8, 9, 4, 5, 6, 7, 10]),
        ("redo", [2, 3, 6, 7, 10]),
    ):
        post(client, "step", step=step)
        assert shown(client) == rows
    assert sheet["rows"] == 6


def test_inserted_rows_stay_in_a_view_of_wrong_rows(client: httpx.Client, tmp_path: Path) -> None:
    open_workbook(client, write_clients(tmp_path / "c.xlsx", "W", (None, "B", None)))
    view = {"view": "wrong"}
    assert client.get("/api/rows", params=view | {"renew": 1}).json()["total"] == 2
    post(client, "insert-rows", above=2, count=1)
    rows = client.get("/api/rows", params=view).json()["rows"]
    assert [row["row"] for row in rows] == [2, 5, 4]


def test_an_edge_is_where_filled_or_empty_cells_end(client: httpx.Client, tmp_path: Path) -> None:
    names = ("A", "B", None, None, "E", "F")
    open_workbook(client, write_clients(tmp_path / "c.xlsx", "E", names))
    for row, down, position in (
        (2, 1, 1),  # to the last filled one
        (3, 1, 4),  # over empty ones
        (4, 1, 4),
        (6, 1, 5),
        (7, 1, 6),  # to the empty row below
        (8, 1, 6),
        (7, 0, 4),
        (6, 0, 1),
        (2, 0, 0),
    ):
        place = {"row": row, "column": 0, "view": "all", "down": down}
        assert client.get("/api/edge", params=place).json()["position"] == position, place


def test_an_inserted_row_is_in_its_place_in_the_copy_with_what_refers_to_rows_below(
    client: httpx.Client, sheet: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "rows.xlsx"
    path.write_bytes(copied(client, tmp_path / "plain.xlsx").read_bytes())
    book = load_workbook(path)
    given, last = book.worksheets[0], book.worksheets[0].max_row
    texts = [given.cell(row, TEXT + 1).value for row in range(1, last + 1)]
    given["A4"].comment = Comment("conferir", "Ana")
    given["B5"].hyperlink = "https://example.org/"
    given.row_dimensions[6].height = 40
    given.auto_filter.ref = f"A1:{get_column_letter(len(HEADER))}{last}"
    book.save(path)
    open_workbook(client, path)
    post(client, "insert-rows", above=3, count=2)
    edits = [{"row": last + n, "column": TEXT, "value": f"Novo {n}"} for n in (1, 2)]
    client.post("/api/edit", json=edits)
    copy = load_workbook(copied(client, tmp_path / "copy.xlsx")).worksheets[0]
    found = [copy.cell(row, TEXT + 1).value for row in range(1, last + 3)]
    assert found == [*texts[:3], "Novo 1", "Novo 2", *texts[3:]]
    assert copy["A6"].comment is not None
    assert copy["A4"].comment is None
    assert copy["B7"].hyperlink is not None
    assert copy.row_dimensions[8].height == 40
    assert copy.auto_filter.ref.endswith(str(last + 2))
    assert len(sheet["columns"]) == len(HEADER)


def test_an_inserted_row_of_a_workbook_with_formulas_is_at_its_end(
    client: httpx.Client, sheet: dict[str, Any], tmp_path: Path
) -> None:
    path = copied(client, tmp_path / "formulas.xlsx")
    book = load_workbook(path)
    last = book.worksheets[0].max_row
    book.create_sheet("Resumo")["A1"] = f"=COUNTA({sheet['sheet']}!A2:A{last})"
    book.save(path)
    open_workbook(client, path)
    post(client, "insert-rows", above=2, count=1)
    client.post("/api/edit", json=[{"row": last + 1, "column": TEXT, "value": "Novo"}])
    copy = load_workbook(copied(client, tmp_path / "copy.xlsx"))
    assert copy.worksheets[0].cell(last + 1, TEXT + 1).value == "Novo"


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """A system with clients, whose names are looked up."""
    return demo_sandbox


def test_names_are_kept_for_a_page_without_a_connection(
    client: httpx.Client, forks: Zygote, home: Path, tmp_path: Path, demo_sandbox: RunningSandbox
) -> None:
    path = write_records(tmp_path / "titulos.xlsx", "contasreceber", [{}])
    columns = [column["name"] for column in open_workbook(client, path)["columns"]]
    place = columns.index("codigoDoCliente")
    view = {"view": "all"}
    assert client.get("/api/rows", params=view).json()["rows"][0]["names"] == {}
    asked = {"column": place, "text": "1001"}
    offered = client.get("/api/names", params=asked).json()
    assert offered["read"]
    named = {one["code"]: one["name"] for one in offered["records"]}
    assert next(iter(named)) == "1001"
    by_name = client.get("/api/names", params=asked | {"text": named["1001"][:6].lower()}).json()
    assert "1001" in {one["code"] for one in by_name["records"]}
    (row, _) = client.get("/api/rows", params=view).json()["rows"]
    assert row["names"][str(place)] == named[row["cells"][place]]
    assert not client.get("/api/names", params=asked).json()["read"]
    unreachable = clean_environment(home, **credentials(demo_sandbox))
    unreachable["XLBRIDGE_PASSWORD"] = "wrong"
    with running_page(forks, tmp_path, home, unreachable) as other, other.client() as second:
        open_workbook(second, path)
        (again, _) = second.get("/api/rows", params=view).json()["rows"]
        assert again["names"] == row["names"]
        answer = second.get("/api/names", params=asked).json()
        assert answer == {"records": offered["records"], "read": False}
