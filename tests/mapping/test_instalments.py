"""Sheets with a row for several titles: each instalment in the columns of a row becomes one."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml
from environment import Xlbridge

import xlbridge as xb

TITLES = (
    (
        "Documento;Cliente;Filial;Item;CC;Conta;Histórico;Vencto 1;Valor 1;Vencto 2;Valor 2;"
        "Vencto 3;Valor 3"
    ),
    "NF-1;1311;1;1.01.001;01.001;1;Venda;31/10/2026;100,00;30/11/2026;200,00;30/12/2026;200,00",
    "NF-2;1197;1;1.01.001;01.001;1;Venda;31/10/2026;50,00;30/11/2026;50,00;;",
    "Total;;;;;;;;150,00;;250,00;;200,00",
)


def write(folder: Path, lines: Sequence[str], name: str = "parcelas.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def content(tmp_path: Path, at_demo: Xlbridge) -> dict[str, Any]:
    """The proposed mapping of the titles, written to m.yaml."""
    write(tmp_path, TITLES)
    done = at_demo("map", "parcelas.csv", "--resource", "contasreceber", "-o", "m.yaml")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = yaml.safe_load((tmp_path / "m.yaml").read_text("utf-8"))
    return found


def upload(xlbridge: Xlbridge, *options: str) -> dict[str, Any]:
    done = xlbridge("upload", "parcelas.csv", "--map", "m.yaml", "--format", "json", *options)
    answer: dict[str, Any] = json.loads(done.stdout)
    assert "rows" in answer, done.stdout + done.stderr
    return answer


def findings(xlbridge: Xlbridge) -> list[tuple[str, str, str]]:
    done = xlbridge("validate", "parcelas.csv", "--map", "m.yaml", "--format", "json")
    (file,) = json.loads(done.stdout)["files"]
    return [
        (one["cell"], one["column"], one["code"])
        for one in file["findings"]
        if one["severity"] == "error"
    ]


def test_each_instalment_is_proposed_as_a_title_with_a_key_of_its_own(
    tmp_path: Path, content: dict[str, Any]
) -> None:
    items = content["lists"]["contasreceber"]["items"]
    assert items == [
        {
            "numeroDoDocumento": {"from": "Documento", "suffix": f"/{number}"},
            "dataDeVencimento": {"from": f"Vencto {number}"},
            "valorDoLancamento": {"from": f"Valor {number}", "numbers": "pt"},
        }
        for number in (1, 2, 3)
    ]
    assert not {"numeroDoDocumento", "valorDoLancamento"} & content["columns"].keys()
    frame = xb.validate(tmp_path / "parcelas.csv", map=tmp_path / "m.yaml").good
    # An empty instalment is none.
    assert list(frame.index) == [2, 2, 2, 3, 3]
    assert list(frame["numeroDoDocumento"]) == ["NF-1/1", "NF-1/2", "NF-1/3", "NF-2/1", "NF-2/2"]
    assert list(map(str, frame["valorDoLancamento"])) == [
        "100.00",
        "200.00",
        "200.00",
        "50.00",
        "50.00",
    ]


@pytest.mark.parametrize(
    ("header", "amounts"),
    [
        ("Fornecedor;Nota;1ª parcela;Vencimento 1ª;2ª parcela;Vencimento 2ª", "ca"),
        ("Fornecedor;Nota;Data parc. 1;Valor parc. 1;Data parc. 2;Valor parc. 2", "dc"),
    ],
)
def test_instalments_are_recognised_by_their_numbers(
    tmp_path: Path, xlbridge: Xlbridge, header: str, amounts: str
) -> None:
    pairs = [("10/01/2027", "100,00"), ("10/02/2027", "200,00")]
    cells = [text for pair in pairs for text in (pair if amounts == "dc" else pair[::-1])]
    write(tmp_path, [header, ";".join(["Aços Sul", "4512", *cells])])
    proposed = yaml.safe_load(xlbridge("map", "parcelas.csv").stdout)
    assert proposed["resource"] == "contaspagar"
    items = proposed["lists"]["contaspagar"]["items"]
    assert [set(item) for item in items] == [
        {"numeroDoDocumento", "dataDeVencimento", "valorDoLancamento"}
    ] * 2
    assert [item["numeroDoDocumento"]["suffix"] for item in items] == ["/1", "/2"]


def test_findings_are_in_the_cells_of_the_instalment(
    tmp_path: Path, at_demo: Xlbridge, content: dict[str, Any]
) -> None:
    assert findings(at_demo) == [("A4", "numeroDoDocumento", "row-total")]
    write(
        tmp_path,
        [
            TITLES[0],
            TITLES[1].replace("30/11/2026", "31/11/2026").replace("1311", "x"),
            TITLES[2].replace("30/11/2026;50,00;;", ";50,00;24/12/2026;"),
        ],
    )
    # The client, which the titles of a row share, is reported once.
    assert findings(at_demo) == [
        ("B2", "codigoDoCliente", "type-integer"),
        ("J2", "dataDeVencimento", "type-date"),
        ("J3", "dataDeVencimento", "mapping-item-incomplete"),
        ("M3", "valorDoLancamento", "mapping-item-incomplete"),
    ]
    said = at_demo("validate", "parcelas.csv", "--map", "m.yaml").stdout
    assert "The instalment 2 lacks Due date, and has Amount" in said


def test_titles_are_sent_once_and_their_status_is_in_the_row(
    tmp_path: Path, at_demo: Xlbridge, content: dict[str, Any]
) -> None:
    rows = upload(at_demo, "--yes", "--annotate", "situacao.xlsx")["rows"]
    assert (rows["read"], rows["created"], rows["held"]) == (6, 5, 1)
    sheet = openpyxl.load_workbook(tmp_path / "situacao.xlsx").worksheets[1]
    *_, state, _, _, codes = zip(*sheet.iter_rows(min_row=2, values_only=True), strict=True)
    assert state[:2] == ("accepted", "accepted")
    assert [len(str(text).split(" · ")) for text in codes[:2]] == [3, 2]
    again = upload(at_demo, "--yes")["rows"]
    assert (again["unchanged"], again["created"]) == (5, 0)
    # Another amount is held, at its own cell.
    write(tmp_path, [*TITLES[:2], TITLES[2].replace("30/11/2026;50,00", "30/11/2026;60,00")])
    changed = upload(at_demo, "--yes")
    (held,) = [row for row in changed["not_created"] if row["action"] == "held"]
    assert (held["row"], held["differences"][0]["yours"]) == (3, "60")
    assert "row 3 (2)" in at_demo("upload", "parcelas.csv", "--map", "m.yaml", "--yes").stderr


def test_a_rejected_instalment_is_corrected_alone(
    tmp_path: Path, at_demo: Xlbridge, content: dict[str, Any]
) -> None:
    # The second instalment of the first row has an account that does not exist.
    for number, item in enumerate(content["lists"]["contasreceber"]["items"], start=1):
        item["codigoDaContaCorrente"] = {"constant": 99 if number == 2 else 1}
    del content["columns"]["codigoDaContaCorrente"]
    content["ignore"] = ["Conta"]
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    write(tmp_path, TITLES[:2])
    sent = upload(at_demo, "--yes")
    assert (sent["rows"]["accepted"], sent["rows"]["rejected"]) == (2, 1)
    assert {row["row"] for row in sent["rejected"]} == {2}
    book = openpyxl.load_workbook(sent["rejects_file"])
    sheet = book.worksheets[1]
    titles = {cell.value: cell.column for cell in sheet[1]}
    assert sheet.cell(2, 1).value == "2 (2)"
    (account,) = (column for title, column in titles.items() if "account" in str(title).lower())
    sheet.cell(2, account).value = 1
    book.save(sent["rejects_file"])
    again = json.loads(at_demo("retry", sent["rejects_file"], "--yes", "--format", "json").stdout)
    assert again["rows"]["accepted"] == 1
    job = json.loads(at_demo("jobs", sent["job"], "--format", "json").stdout)
    assert (job["rows"]["accepted"], job["rows"]["rejected"]) == (3, 0)


def test_next_month_another_instalment_is_a_title_too(
    tmp_path: Path, at_demo: Xlbridge, content: dict[str, Any]
) -> None:
    upload(at_demo, "--yes")
    header, first, *_ = TITLES
    write(
        tmp_path,
        [f"{header};Vencto 4;Valor 4", f"{first.replace('NF-1', 'NF-9')};30/01/2027;10,00"],
    )
    done = at_demo("map", "parcelas.csv")
    after = yaml.safe_load(done.stdout)
    assert after["columns"] == content["columns"]
    *before, new = after["lists"]["contasreceber"]["items"]
    assert before == content["lists"]["contasreceber"]["items"]
    assert new["numeroDoDocumento"] == {"from": "Documento", "suffix": "/4"}
    asked = [line.split(" → ")[1].split(":")[0] for line in done.stderr.splitlines() if "→" in line]
    assert {name.split(".")[1] for name in asked} == {"4"}


def test_titles_of_a_row_with_the_same_key_are_refused(
    tmp_path: Path, at_demo: Xlbridge, content: dict[str, Any]
) -> None:
    for item in content["lists"]["contasreceber"]["items"]:
        del item["numeroDoDocumento"]
    content["columns"]["numeroDoDocumento"] = {"from": "Documento"}
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    done = at_demo("validate", "parcelas.csv", "--map", "m.yaml")
    assert done.returncode == 2
    assert "would have the same numeroDoDocumento" in done.stderr


def test_a_plan_sends_and_proves_the_titles(
    tmp_path: Path, at_demo: Xlbridge, content: dict[str, Any]
) -> None:
    write(tmp_path, TITLES[:3])
    step = "{upload: parcelas.csv, resource: contasreceber, map: m.yaml}"
    (tmp_path / "mes.yaml").write_text(f"name: mes\nsteps:\n  titulos: {step}\n", "utf-8")
    done = at_demo("batch", "run", "mes.yaml", "--yes")
    assert done.returncode == 0, done.stderr
    assert "Rows: 5 = 5 accepted" in done.stdout
    assert "Everything accounted for: 5 of 5 rows read back" in done.stdout
