"""Findings that a person accepts: by option, mapping, plan, page and Python; remembered."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from environment import Xlbridge
from sheets import GOOD, write_records

CR = "contasreceber"
ZEROS = [f"{n:05}" for n in range(1, 20)]


def codes(path: Path, changes: Sequence[str] = ("20",), **others: Any) -> Path:
    documents = [*ZEROS, *changes]
    return write_records(path, CR, [{"numeroDoDocumento": one, **others} for one in documents])


def report(xlbridge: Xlbridge, path: Path, *options: str) -> Mapping[str, Any]:
    result = xlbridge("validate", path, "--format", "json", *options)
    (file,) = json.loads(result.stdout)["files"]
    found = [(finding["code"], finding["column"]) for finding in file["findings"]]
    return {"found": found, "accepted": file.get("accepted", [])}


SHAPE = {"code": "code-shape", "column": "numeroDoDocumento", "cells": 1}
REPORTED = {"found": [("code-shape", "numeroDoDocumento")], "accepted": []}
ACCEPTED = {"found": [], "accepted": [SHAPE]}


@pytest.mark.parametrize(
    "text",
    [
        "code-shape:numeroDoDocumento",
        "code-shape:Número do documento",
        "code-shape:NUMERO DO DOCUMENTO",
        "code-shape:Document number",
        "code-shape",
    ],
)
def test_accepted_finding_is_counted_and_remembered(
    xlbridge: Xlbridge, tmp_path: Path, text: str
) -> None:
    path = codes(tmp_path / "a.xlsx")
    assert report(xlbridge, path) == REPORTED
    assert report(xlbridge, path, "--accept", text) == ACCEPTED
    later = codes(tmp_path / "december.xlsx", ["21"])
    assert report(xlbridge, later) == ACCEPTED
    assert "code-shape: numeroDoDocumento (1)" in xlbridge("validate", later).stdout
    other = write_records(
        tmp_path / "b.xlsx", CR, [{"numeroDoDocumento": d, "idws": d} for d in [*ZEROS, "20"]]
    )
    assert ("code-shape", "numeroDoDocumento") in report(xlbridge, other)["found"]
    assert report(xlbridge, path, "--accept", "none") == REPORTED
    assert report(xlbridge, path) == REPORTED


def test_finding_is_accepted_in_the_named_column_only(xlbridge: Xlbridge, tmp_path: Path) -> None:
    path = codes(tmp_path / "a.xlsx")
    assert report(xlbridge, path, "--accept", "code-shape:idws") == REPORTED
    assert report(xlbridge, path) == REPORTED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type-integer", "cannot be accepted"),
        ("required-missing:historico", "cannot be accepted"),
        ("code-shap", "Did you mean code-shape"),
        ("", "there is no finding"),
    ],
)
def test_error_without_a_usable_value_cannot_be_accepted(
    xlbridge: Xlbridge, tmp_path: Path, text: str, message: str
) -> None:
    path = codes(tmp_path / "a.xlsx")
    result = xlbridge("--lang", "en", "validate", path, "--accept", text)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("column", "cell", "text", "sent"),
    [
        ("historico", "idem", "text-ditto:historico", "idem"),
        ("numeroDoDocumento", "1,2E+13", "code-scientific", "1,2E+13"),
        ("numeroDoDocumento", "4512.0", "code-decimals", "4512.0"),
        ("historico", "N/A", "text-placeholder", "N/A"),
        ("dataDeVencimento", "31/12/2026", "date-as-text:dataDeVencimento", "2026-12-31"),
    ],
)
def test_accepted_value_is_sent_unchanged(
    xlbridge: Xlbridge, tmp_path: Path, column: str, cell: str, text: str, sent: str
) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{column: cell}])
    code = text.partition(":")[0]
    assert report(xlbridge, path)["found"] == [(code, column)]
    assert report(xlbridge, path, "--accept", text)["found"] == []
    import xlbridge as xb

    frame = xb.validate(path, accept=[text]).frame
    assert str(frame[column].iloc[0])[: len(sent)] == sent


def test_rows_that_look_like_totals_are_records_if_accepted(
    xlbridge: Xlbridge, tmp_path: Path
) -> None:
    rows = [{"nomeComercial": name} for name in ("Padaria Estrela", "Total", "Oficina Sol")]
    path = write_records(tmp_path / "a.xlsx", "cliente", [{"cnpj": None, **r} for r in rows])
    path = write_records(
        tmp_path / "a.xlsx",
        "tipocliente",
        [
            {"descricaoDoTipoDeCliente": "Varejo", "codigoDoTipoDeCliente": 1},
            {"descricaoDoTipoDeCliente": "Total:", "codigoDoTipoDeCliente": None},
        ],
    )
    assert report(xlbridge, path)["found"] == [("row-total", "descricaoDoTipoDeCliente")]
    accepted = report(xlbridge, path, "--accept", "row-total")
    counted = {"code": "row-total", "column": "descricaoDoTipoDeCliente", "cells": 1}
    assert accepted == {"found": [], "accepted": [counted]}
    assert xlbridge("validate", path).returncode == 0


def test_mapping_accepts_findings_by_the_name_of_either_side(
    xlbridge: Xlbridge, tmp_path: Path
) -> None:
    names = {"numeroDoDocumento": "Doc"}
    header = [names.get(name, name) for name in GOOD[CR]] + ["Doc"]
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet()
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        page.write_row(0, 0, header)
        for row, document in enumerate([*ZEROS, "20"], start=1):
            for column, value in enumerate([*GOOD[CR].values(), document]):
                form = day if "data" in header[column] else None
                page.write(row, column, value, form)
    mapping = tmp_path / "m.yaml"
    columns = "".join(f"  {name}: {{from: {name}}}\n" for name in GOOD[CR])
    content = (
        f"version: 1\nresource: {CR}\nheader: [{', '.join(header)}]\ncolumns:\n{columns}"
        "  numeroDoDocumento: {from: Doc}\n"
    )
    for accept in ("code-shape:numeroDoDocumento", "code-shape:Doc", "code-shape"):
        mapping.write_text(f"{content}accept: [{accept}]\n", "utf-8")
        assert report(xlbridge, path, "--map", str(mapping)) == ACCEPTED
    mapping.write_text(content, "utf-8")
    assert report(xlbridge, path, "--map", str(mapping)) == REPORTED
    mapping.write_text(f"{content}accept: [type-date]\n", "utf-8")
    result = xlbridge("--lang", "en", "validate", path, "--map", str(mapping))
    assert result.returncode == 2
    assert "type-date cannot be accepted" in result.stderr
