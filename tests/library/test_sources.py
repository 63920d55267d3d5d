"""Sources other than paths, and what is made of them: mappings, templates, fixed copies."""

import io
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from environment import ROOT

import xlbridge as xb

CLIENTS = ROOT / "samples" / "cliente.xlsx"
WRONG = ROOT / "samples" / "cliente-com-erros.xlsx"


class Interchanged:
    """A table that only has the DataFrame interchange protocol."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._frame.__dataframe__(nan_as_null, allow_copy)


@pytest.mark.parametrize("kind", ["bytes", "file", "stream"])
def test_a_workbook_in_memory_is_read_like_its_file(tmp_path: Path, kind: str) -> None:
    expected = xb.validate(WRONG)
    content = WRONG.read_bytes()
    with WRONG.open("rb") as file:
        source = {"bytes": content, "file": file, "stream": io.BytesIO(content)}[kind]
        report = xb.validate(source)  # type: ignore[arg-type]
    assert report.source is None
    pd.testing.assert_frame_equal(report.findings, expected.findings)
    pd.testing.assert_frame_equal(report.frame, expected.frame)
    report.to_excel(tmp_path / "marked.xlsx")
    assert (tmp_path / "marked.xlsx").is_file()


def test_the_bytes_of_a_csv_are_a_csv() -> None:
    report = xb.validate(b"nomeComercial;natureza\nPadaria;X\n", "cliente")
    assert "value-not-allowed" in set(report.findings["code"])


def test_a_file_open_as_text_is_refused() -> None:
    with pytest.raises(xb.errors.UsageError, match="open as text"):
        xb.validate(io.StringIO("nomeComercial"))  # type: ignore[arg-type]


def test_tables_of_other_libraries_are_frames() -> None:
    frame = pd.DataFrame({"nomeComercial": ["Padaria", "Banca"], "natureza": ["J", "X"]})
    expected = xb.validate(frame, "cliente").findings
    for table in (pa.Table.from_pandas(frame), Interchanged(frame)):
        pd.testing.assert_frame_equal(xb.validate(table, "cliente").findings, expected)


def test_integers_of_arrow_stay_exact_beside_missing_ones() -> None:
    table = pa.table({"seuCodigo": [9007199254740993, None], "nomeComercial": ["A", "B"]})
    assert xb.validate(table, "cliente").frame["seuCodigo"].iloc[0] == "9007199254740993"


def test_a_dict_of_frames_is_a_sheet_with_lists(tmp_path: Path) -> None:
    book = ROOT / "samples" / "pedido.xlsx"
    expected = xb.validate(book)
    sheets = {
        name: pd.read_excel(book, sheet_name=name, dtype=object, engine="openpyxl")
        for name in (expected.sheet, *(child.sheet for child in expected.children.values()))
    }
    report = xb.validate(sheets, "pedido")
    assert (report.ok, list(report.children)) == (expected.ok, list(expected.children))
    assert len(report.frame) == len(expected.frame)
    for name, child in report.children.items():
        assert len(child.frame) == len(expected.children[name].frame)
        assert child.frame.index[0] == 0
    report.to_excel(tmp_path / "marked.xlsx")
    assert xb.validate(tmp_path / "marked.xlsx", "pedido").ok == expected.ok


def test_a_mapping_is_proposed_saved_and_used(tmp_path: Path) -> None:
    sheet = pd.DataFrame({"Nome": ["Padaria", "Banca"], "CNPJ": ["11.222.333/0001-81", None]})
    draft = xb.map(sheet, "cliente")
    assert draft.resource == "cliente"
    found = draft.columns.set_index("column")["source"]
    assert found["cnpj"] == ["CNPJ"]
    draft.save(tmp_path / "m.yaml")
    with pytest.raises(xb.errors.UsageError, match=r"already exists"):
        draft.save(tmp_path / "m.yaml")
    assert xb.validate(sheet, map=tmp_path / "m.yaml").frame["cnpj"].iloc[0]


def test_a_template_is_written_once(tmp_path: Path) -> None:
    xb.template("cliente", tmp_path / "c.xlsx")
    assert xb.validate(tmp_path / "c.xlsx").resource == "cliente"
    for path in (tmp_path / "c.xlsx", tmp_path / "c.csv"):
        with pytest.raises(xb.errors.UsageError):
            xb.template("cliente", path)
    xb.template("cliente", tmp_path / "c.xlsx", force=True)


@pytest.mark.parametrize("in_memory", [False, True])
def test_what_is_certain_is_fixed_in_a_copy(tmp_path: Path, in_memory: bool) -> None:
    source = WRONG.read_bytes() if in_memory else WRONG
    report = xb.fix(source, tmp_path / "fixed.xlsx")
    assert report.source == tmp_path / "fixed.xlsx"
    assert len(report.changes) > 0
    assert report.errors < xb.validate(WRONG).errors
    assert report.errors == xb.validate(tmp_path / "fixed.xlsx").errors
    with pytest.raises(xb.errors.UsageError, match="already"):
        xb.fix(WRONG, tmp_path / "fixed.xlsx")
