"""Reports: the same findings as the command, typed frames, validation of DataFrames."""

import asyncio
import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pandera.pandas as pa
import pytest
from environment import ROOT, Xlbridge

import xlbridge as xb
from xlbridge.errors import SchemaFileError, UsageError
from xlbridge.i18n import override_language

pytestmark = pytest.mark.usefixtures("own_home")

SAMPLE = ROOT / "samples" / "contasreceber-com-erros.xlsx"


def title(**others: object) -> dict[str, object]:
    """Return the values of a receivable, some of them replaced."""
    usual: dict[str, object] = {
        "codigoDaFilial": 1,
        "codigoDoCliente": 1001,
        "codigoDoItemDeLancamento": "1.01.001",
        "codigoDoCentroDeCusto": "01.001",
        "codigoDaContaCorrente": 1,
        "historico": "Mensalidade de outubro",
        "dataDeVencimento": dt.date(2026, 10, 31),
        "valorDoLancamento": Decimal("1234.56"),
    }
    return usual | others


def titles(*rows: dict[str, object], index: object = None) -> pd.DataFrame:
    return pd.DataFrame(list(rows), index=index)


@pytest.mark.parametrize("source", [SAMPLE, str(SAMPLE)], ids=["Path", "str"])
def test_the_findings_are_those_of_the_command(source: Path | str, xlbridge: Xlbridge) -> None:
    report = xb.validate(source)
    (expected,) = json.loads(xlbridge("validate", SAMPLE, "--format", "json").stdout)["files"]
    columns = ["row", "cell", "column", "code", "severity", "value", "message", "hint"]
    found = report.findings.astype(object).where(report.findings.notna(), None)
    assert list(found.columns) == columns
    assert found.to_dict("records") == [
        {name: item[name] for name in columns} for item in expected["findings"]
    ]
    assert (report.resource, report.sheet) == (expected["resource"], expected["sheet"])
    assert (report.errors, report.warnings) == (expected["errors"], expected["warnings"])
    assert len(report.frame) == expected["rows"]


def test_the_columns_are_typed() -> None:
    frame = xb.validate(ROOT / "samples" / "contasreceber.xlsx").frame
    assert frame.index.name == "row"
    assert frame["codigoDoCliente"].dtype == "Int64"
    assert frame["codigoDoCentroDeCusto"].dtype == "str"
    assert frame["dataDeVencimento"].dtype == "datetime64[us]"
    assert {type(amount) for amount in frame["valorDoLancamento"]} == {Decimal}


def test_money_is_exact_to_the_cent_and_keeps_finer_amounts() -> None:
    amounts = [0.1 + 0.2, 1234.5, 1.2345, None, 99999999.99]
    report = xb.validate(titles(*(title(valorDoLancamento=a) for a in amounts)), "contasreceber")
    assert report.frame["valorDoLancamento"].tolist() == [
        Decimal("0.30"),
        Decimal("1234.50"),
        Decimal("1.2345"),
        None,
        Decimal("99999999.99"),
    ]
    assert report.findings["row"].tolist() == [2]


def test_an_amount_that_is_reported_as_too_fine_keeps_its_decimal_places() -> None:
    report = xb.validate(titles(title(valorDoLancamento=1_000_000.00005)), "contasreceber")
    assert report.findings["code"].tolist() == ["decimal-places"]
    assert report.frame["valorDoLancamento"].tolist() == [Decimal("1000000.00005")]


def test_good_and_bad_rows_are_separated_by_their_errors() -> None:
    report = xb.validate(SAMPLE)
    wrong = report.findings[(report.findings["severity"] == "error")]
    in_rows = wrong[wrong["row"] > 3]
    assert not report.ok
    assert set(report.bad.index) == set(in_rows["row"])
    assert sorted([*report.good.index, *report.bad.index]) == list(report.frame.index)


def test_no_row_is_good_if_the_layout_is_wrong() -> None:
    report = xb.validate(titles(title()).drop(columns="historico"), "contasreceber")
    assert (len(report.good), len(report.bad)) == (0, 1)
    assert report.findings["code"].tolist() == ["column-missing"]
    assert report.findings["row"].isna().all()


def test_an_empty_report_has_the_same_columns() -> None:
    report = xb.validate(titles(title()), "contasreceber")
    assert report.ok
    assert list(report.findings.columns) == list(xb.validate(SAMPLE).findings.columns)
    assert report.findings["row"].dtype == "Int64"


def test_findings_of_a_frame_have_its_labels() -> None:
    frame = titles(title(), title(codigoDoCliente="x"), index=["a", "b"])
    report = xb.validate(frame, "contasreceber")
    assert report.findings[["row", "cell", "column"]].values.tolist() == [
        ["b", "B3", "codigoDoCliente"]
    ]
    assert list(report.good.index) == ["a"]
    assert list(frame.loc[report.findings["row"]].index) == ["b"]


def test_bytes_are_refused_and_not_sent_as_their_text() -> None:
    frame = titles(title(), title(historico=b"Mensalidade"), index=["a", "b"])
    with pytest.raises(UsageError, match="historico has bytes at b"):
        xb.validate(frame, "contasreceber")


@pytest.mark.parametrize("value", [["Mensalidade"], {"texto": "x"}, ("x",), {"x"}, np.array(["x"])])
def test_several_values_in_one_cell_are_refused(value: object) -> None:
    frame = titles(title(), title(), index=["a", "b"])
    frame["historico"] = pd.Series(["Mensalidade", value], index=frame.index, dtype=object)
    with pytest.raises(UsageError, match="historico has several values at b"):
        xb.validate(frame, "contasreceber")


def test_a_multiindex_of_columns_is_refused() -> None:
    frame = titles(title())
    frame.columns = pd.MultiIndex.from_tuples([("outubro", name) for name in frame.columns])
    with pytest.raises(UsageError, match="several levels"):
        xb.validate(frame, "contasreceber")


def test_sparse_columns_are_read_like_dense_ones() -> None:
    frame = titles(title(), title()).astype({"codigoDaFilial": pd.SparseDtype("int64", 1)})
    assert xb.validate(frame, "contasreceber").frame["codigoDaFilial"].tolist() == [1, 1]


def test_findings_of_a_frame_with_two_index_levels_have_both() -> None:
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    report = xb.validate(titles(title(), title(codigoDoCliente=-1), index=index), "contasreceber")
    assert report.findings["row"].tolist() == [("a", 2)]
    assert report.bad.index.tolist() == [("a", 2)]


@pytest.mark.parametrize("columns", [[], ["historico"]])
def test_a_frame_without_rows_is_an_empty_sheet(columns: list[str]) -> None:
    report = xb.validate(pd.DataFrame(columns=columns), "contasreceber")
    assert report.findings["code"].tolist()[-1] == "sheet-empty"
    assert (len(report.frame), len(report.good), len(report.bad)) == (0, 0, 0)


def test_a_frame_that_excel_cannot_hold_is_not_written(tmp_path: Path) -> None:
    report = xb.validate(titles(title(historico="x" * 40_000)), "contasreceber")
    assert report.findings["code"].tolist() == ["text-length"]
    with pytest.raises(xb.errors.UsageError):
        report.to_excel(tmp_path / "copy.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_blank_rows_of_a_frame_are_left_out() -> None:
    frame = titles(title(), {}, title(codigoDoCliente=-1), index=[10, 20, 30])
    report = xb.validate(frame, "contasreceber")
    assert list(report.frame.index) == [10, 30]
    assert report.findings["row"].tolist() == [30]


def test_a_frame_and_its_workbook_have_the_same_findings(tmp_path: Path) -> None:
    frame = titles(
        title(),
        title(codigoDoCentroDeCusto=7, dataDeVencimento="31/10/2026"),
        title(valorDoLancamento=Decimal("12345678901234567.89"), codigoDoCliente=True),
        title(dataDeVencimento=pd.Timestamp("2026-10-31 12:30"), codigoDaFilial=2**60),
        title(dataDeVencimento=pd.Timestamp("2026-10-31", tz="America/Sao_Paulo")),
        title(dataDeVencimento=dt.date(1899, 12, 31), historico="=1+1"),
        title(valorDoLancamento=float("inf"), historico="<r>text</r>"),
        title(codigoDoCliente=None, idws="", historico="  "),
        title(historico=Path("an/object")),
    )
    report = xb.validate(frame, "contasreceber")
    copy = tmp_path / "copy.xlsx"
    report.to_excel(copy)
    again = xb.validate(copy, "contasreceber")
    compared = ["cell", "column", "code", "value", "message"]
    assert len(report.findings) > 5
    assert again.findings[compared].equals(report.findings[compared])
    assert again.frame.reset_index(drop=True).equals(report.frame.reset_index(drop=True))


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float[pyarrow]", "object"])
def test_single_precision_and_numpy_dates_keep_their_displayed_value(dtype: str) -> None:
    frame = titles(title(), title())
    amounts = pd.Series([np.float32(99.9), None], dtype=object)
    frame["valorDoLancamento"] = amounts.astype(dtype)
    frame["dataDeVencimento"] = pd.Series([np.datetime64("2026-10-31"), None], dtype=object)
    report = xb.validate(frame.iloc[:1], "contasreceber")
    assert report.findings.empty
    assert report.frame["valorDoLancamento"].tolist() == [Decimal("99.90")]
    assert report.frame["dataDeVencimento"].tolist() == [pd.Timestamp("2026-10-31")]


def test_good_rows_of_a_report_pass_again() -> None:
    good = xb.validate(ROOT / "samples" / "contasreceber.xlsx").good
    again = xb.validate(good, "contasreceber")
    assert again.ok
    assert again.frame.equals(good)


def test_annotated_copy_replaces_only_an_earlier_one(tmp_path: Path) -> None:
    report, copy = xb.validate(SAMPLE), tmp_path / "copy.xlsx"
    report.to_excel(str(copy))
    report.to_excel(copy)
    assert "xlbridge" in openpyxl.load_workbook(copy).sheetnames
    other = tmp_path / "other.xlsx"
    other.write_bytes(SAMPLE.read_bytes())
    with pytest.raises(xb.errors.UsageError):
        report.to_excel(other)
    report.to_excel(other, force=True)
    assert "xlbridge" in openpyxl.load_workbook(other).sheetnames


def test_the_workbook_itself_is_never_replaced(tmp_path: Path) -> None:
    book = tmp_path / "titles.xlsx"
    book.write_bytes(SAMPLE.read_bytes())
    with pytest.raises(xb.errors.UsageError):
        xb.validate(book).to_excel(book, force=True)
    assert book.read_bytes() == SAMPLE.read_bytes()


def test_text_dates_and_numbers_are_read_as_declared() -> None:
    frame = titles(title(dataDeVencimento="03/04/2026", valorDoLancamento="1.234"))
    (row,) = xb.validate(frame, "contasreceber", dates="mdy", numbers="pt").frame.itertuples()
    assert row.dataDeVencimento == pd.Timestamp(2026, 3, 4)
    assert row.valorDoLancamento == Decimal("1234")


def test_messages_are_in_the_chosen_language() -> None:
    with override_language("pt-BR"):
        message = xb.validate(titles(title(codigoDoCliente=-1))).findings["message"].item()
    assert message == "O valor deve ser maior que 0."


def test_each_thread_and_task_has_its_own_language() -> None:
    source = titles(title(codigoDoCliente=-1))
    expected = {"pt-BR": "O valor deve ser maior que 0.", "en": "The value must be greater than 0."}
    languages = [*expected] * 6

    def told(language: str) -> tuple[str, str, str]:
        with xb.override_language(language):
            found = xb.validate(source).findings
            with pytest.raises(xb.errors.UsageError) as caught:
                xb.validate("none.xlsx")
            return found["message"].item(), found["hint"].item(), str(caught.value)

    async def gather() -> list[tuple[str, str, str]]:
        return await asyncio.gather(*(asyncio.to_thread(told, one) for one in languages))

    with ThreadPoolExecutor(len(languages)) as threads:
        answers = list(threads.map(told, languages))
    assert [answer[0] for answer in answers] == [expected[one] for one in languages]
    assert len(set(answers)) == len(expected)
    assert asyncio.run(gather()) == answers
    with pytest.raises(ValueError, match="'fr' is not one of the languages"):
        told("fr")


def test_notebooks_show_reports_as_tables() -> None:
    report = xb.validate(titles(title(historico="<b>", codigoDoCliente=-1)))
    html = report._repr_html_()
    assert html.startswith("<p>&lt;Report ")
    assert "<td>The value must be greater than 0.</td>" in html


@pytest.mark.parametrize(
    ("source", "options", "error"),
    [
        ("missing.xlsx", {}, xb.errors.UsageError),
        (ROOT / "README.md", {}, xb.errors.WorkbookRefused),
        (SAMPLE, {"resource": "nothing"}, xb.errors.UsageError),
        (SAMPLE, {"sheet": "nothing"}, xb.errors.UsageError),
        (pd.DataFrame({"a": [1]}), {}, xb.errors.UsageError),
        (pd.DataFrame({"a": [1]}), {"sheet": "a"}, xb.errors.UsageError),
        (SAMPLE, {"dates": "DMY"}, xb.errors.UsageError),
        (SAMPLE, {"numbers": "br"}, xb.errors.UsageError),
        (SAMPLE, {"encoding": "latin"}, xb.errors.UsageError),
        (SAMPLE, {"delimiter": "#"}, xb.errors.UsageError),
        (SAMPLE, {"resource": pd.DataFrame({"a": [1]})}, xb.errors.UsageError),
        (SAMPLE, {"map": {"columns": {}}}, xb.errors.UsageError),
        (SAMPLE, {"schemas": "no-such-folder"}, xb.errors.UsageError),
    ],
    ids=lambda value: None if isinstance(value, type) else str(value)[:20],
)
def test_errors_are_raised_if_validation_is_impossible(
    source: object, options: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        xb.validate(source, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "source",
    [
        pd.Series(["Padaria"], name="nomeComercial"),
        [{"nomeComercial": "Padaria"}],
        {"cliente": [{"nomeComercial": "Padaria"}]},
        np.array([["Padaria"]]),
        None,
    ],
    ids=lambda source: type(source).__name__,
)
def test_a_source_of_the_wrong_type_is_refused_with_a_hint(source: object) -> None:
    frame = source["cliente"] if isinstance(source, dict) else source
    with pytest.raises(UsageError, match=type(frame).__name__) as raised:
        xb.validate(source, "cliente")  # type: ignore[arg-type]
    assert "pd.DataFrame(rows)" in str(raised.value.hint)


def test_url_is_not_accepted_as_a_path() -> None:
    with pytest.raises(UsageError) as raised:
        xb.validate("https://example.com/clientes.xlsx")
    assert "Download the file" in str(raised.value.hint)


def test_columns_in_the_index_are_reported() -> None:
    frame = titles(title(numeroDoDocumento="NF-1")).set_index(
        ["codigoDoCliente", "numeroDoDocumento"]
    )
    found = xb.validate(frame, "contasreceber").findings
    reported = found[found["code"] == "column-in-index"]
    assert reported["column"].tolist() == ["codigoDoCliente", "numeroDoDocumento"]
    kept = titles(title(numeroDoDocumento="NF-1")).set_index("numeroDoDocumento", drop=False)
    assert xb.validate(kept, "contasreceber").findings.empty


def test_pandera_reads_a_shipped_schema_and_validates_the_frame() -> None:
    frame = xb.validate(ROOT / "samples" / "contasreceber.xlsx").good
    numbers = frame.astype({"valorDoLancamento": "Float64"})
    assert xb.schema("contasreceber").validate(numbers).equals(numbers)


def test_custom_schemas_are_loaded_from_the_named_folder(tmp_path: Path) -> None:
    shipped = xb.available_resources()["cliente"].source
    own = shipped.read_text("utf-8").replace("resource: cliente", "resource: parceiro")
    (tmp_path / "parceiro.yaml").write_text(own, encoding="utf-8")
    assert "parceiro" in xb.available_resources(str(tmp_path))
    assert "parceiro" not in xb.available_resources()
    assert xb.schema("parceiro", tmp_path).columns.keys() == xb.schema("cliente").columns.keys()
    frame = pd.DataFrame({"nomeComercial": ["Padaria"]})
    assert xb.validate(frame, "parceiro", schemas=tmp_path).resource == "parceiro"


class Vehicle(pa.DataFrameModel):
    """Vehicles of a company."""

    placa: str = pa.Field(unique=True, str_length=7)
    ano: int = pa.Field(ge=1950)


def test_a_pandera_schema_is_a_resource_for_files_and_frames(tmp_path: Path) -> None:
    frame = pd.DataFrame({"placa": ["ABC1D23", "AB-1"], "ano": [2020, 1900]})
    frame.to_csv(tmp_path / "frota.csv", index=False)
    expected = [(1, "placa", "text-length"), (1, "ano", "value-range")]
    for schema in (Vehicle, Vehicle.to_schema()):
        report = xb.validate(frame, schema)
        found = report.findings[["row", "column", "code"]].itertuples(index=False, name=None)
        assert (report.resource, list(found)) == ("vehicle", expected)
    assert xb.validate(tmp_path / "frota.csv", Vehicle).findings["row"].tolist() == [3, 3]
    draft = xb.map(tmp_path / "frota.csv", Vehicle)
    assert draft.columns["column"].tolist() == ["placa", "ano"]
    assert "<td>placa</td>" in draft._repr_html_()
    assert xb.fix(tmp_path / "frota.csv", tmp_path / "fixed.xlsx", Vehicle).errors == 2
    xb.template(Vehicle, tmp_path / "blank.xlsx")
    assert xb.validate(tmp_path / "blank.xlsx", Vehicle).resource == "vehicle"
    assert "vehicle" not in xb.available_resources()


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (pa.Column(str, pa.Check(lambda text: text != "x", name="not_x")), "cannot hold: not_x."),
        (pa.Column(str, parsers=pa.Parser(lambda texts: texts, name="same")), "cannot hold: same."),
        (pa.Column(str, regex=True), "columns.a.regex: true is not known"),
    ],
)
def test_a_pandera_schema_is_not_checked_in_part(schema: pa.Column, words: str) -> None:
    with pytest.raises(SchemaFileError) as raised:
        xb.validate(pd.DataFrame({"a": ["x"]}), pa.DataFrameSchema({"a": schema}))
    assert words in raised.value.message.en


def test_the_findings_of_child_sheets_are_in_reports_of_their_own(xlbridge: Xlbridge) -> None:
    sample = ROOT / "samples" / "pedido-com-erros.xlsx"
    report = xb.validate(sample)
    files = json.loads(xlbridge("validate", sample, "--format", "json").stdout)["files"]
    assert {f"pedido.{name}" for name in report.children} == {f["resource"] for f in files[1:]}
    for (name, child), expected in zip(report.children.items(), files[1:], strict=True):
        assert (child.resource, child.errors) == (f"pedido.{name}", expected["errors"])
        assert child.findings["cell"].dropna().tolist() == [
            finding["cell"] for finding in expected["findings"] if finding["cell"]
        ]
    assert report.errors == sum(file["errors"] for file in files)
    assert report.warnings == sum(file["warnings"] for file in files)
    assert f"{report.errors} errors" in repr(report)


def test_a_record_with_an_error_in_its_lists_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "pedidos.xlsx"
    book = openpyxl.Workbook()
    orders, items = book.worksheets[0], book.create_sheet("produtos")
    orders.title = "pedido"
    for row in (["chave", "codigoDaFilial", "codigoDoCliente"], ["A", 1, 1001], ["B", 1, 1001]):
        orders.append(row)
    items.append(["chave", "idProduto", "quantidade", "valorUnitario"])
    items.append(["A", 2001, 1, 10])
    items.append(["B", 2001, "x", 10])
    book.save(path)
    report = xb.validate(path)
    assert (report.good.index.tolist(), report.bad.index.tolist()) == ([2], [3])
    assert (report.ok, report.errors, len(report.findings)) == (False, 1, 0)
    assert report.children["produtos"].findings["code"].tolist() == ["type-number"]
    items["A1"], items["C3"] = "pedido", 1
    book.save(path)
    assert len(xb.validate(path).good) == 0
