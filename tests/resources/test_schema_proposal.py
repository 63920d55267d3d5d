"""Schema files proposed from an example workbook fit the example."""

import datetime as dt
from pathlib import Path

import pytest
import xlsxwriter
import yaml
from environment import Xlbridge

ROWS = [
    ["03.001", "Marketing", "Ativo", 10.5, dt.date(2026, 1, 5), 1, "11.222.333/0001-81", None],
    ["03.002", "Vendas", "Ativo", 20, dt.date(2026, 2, 5), 2, "11.444.777/0001-61", "x"],
    ["03.003", "Compras", "Inativo", 30.25, dt.date(2026, 3, 5), 2, "11.222.333/0001-81", None],
] * 4
HEADER = ["Código", "Descrição", "Situação", "Valor (R$)", "Início", "Filial", "CNPJ", "Obs."]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "centros de custo.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("Plan1")
        date = book.add_format({"num_format": "dd/mm/yyyy"})
        sheet.write(0, 0, "Centros de custo de 2026")
        sheet.write_row(2, 0, HEADER)
        for number, row in enumerate(ROWS, 3):
            for column, value in enumerate(row):
                if isinstance(value, dt.date):
                    sheet.write_datetime(number, column, dt.datetime(*value.timetuple()[:3]), date)
                elif value is not None:
                    text = f"03.{number:03d}" if column == 0 else value
                    sheet.write(number, column, text)
    return path


def proposed(xlbridge: Xlbridge, example: Path, *options: str) -> dict[str, dict[str, object]]:
    done = xlbridge("resources", "new", "--from", example, *options)
    assert done.returncode == 0, done.stderr
    read: dict[str, dict[str, object]] = yaml.safe_load(done.stdout)
    return read


def test_kinds_and_rules_follow_from_the_values(xlbridge: Xlbridge, example: Path) -> None:
    read = proposed(xlbridge, example)
    columns = read["columns"]
    assert read["metadata"]["resource"] == "centros-de-custo"  # type: ignore[index]
    assert read["metadata"]["natural_keys"] == ["codigo"]
    assert list(columns) == [
        "codigo",
        "descricao",
        "situacao",
        "valorR",
        "inicio",
        "Filial",
        "CNPJ",
        "obs",
    ]
    assert columns["codigo"] == {
        "title": "Código",
        "dtype": "str",
        "required": True,
        "nullable": False,
        "str_length": {"min_value": 6, "max_value": 6},
        "no_repeats": {},
    }
    assert columns["situacao"]["isin"] == ["Ativo", "Inativo"]  # type: ignore[index]
    assert columns["valorR"]["decimals"] == {"places": 2}  # type: ignore[index]
    assert columns["inicio"]["dtype"] == "datetime64[us]"  # type: ignore[index]
    assert columns["Filial"]["dtype"] == "Int64"  # type: ignore[index]
    assert columns["CNPJ"]["cnpj"] == {}  # type: ignore[index]
    assert columns["obs"]["nullable"] is True  # type: ignore[index]


def test_a_row_with_only_a_zero_is_a_row(xlbridge: Xlbridge, tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet().write_column(0, 0, ["Quantidade", 0, 5, 5])
    assert proposed(xlbridge, path)["columns"]["Quantidade"]["required"] is True  # type: ignore[index]


def test_the_example_fits_its_own_proposal(
    xlbridge: Xlbridge, home: Path, example: Path, tmp_path: Path
) -> None:
    folder = home / "schemas"
    folder.mkdir(parents=True)
    written = xlbridge("resources", "new", "--from", example, "-o", folder / "centros.yaml")
    assert written.returncode == 0, written.stderr
    done = xlbridge("validate", example, "--resource", "centros-de-custo")
    assert done.returncode == 0, done.stdout
    assert "errors: 0 · warnings: 0" in done.stdout
    template = xlbridge("template", "centros-de-custo", "-o", tmp_path / "modelo.xlsx")
    assert template.returncode == 0, template.stderr


@pytest.mark.parametrize("name", ["cliente", "contasreceber", "contaspagar", "nota-fiscal-servico"])
def test_samples_fit_their_own_proposals(
    xlbridge: Xlbridge, home: Path, samples: Path, name: str
) -> None:
    folder = home / "schemas"
    folder.mkdir(parents=True)
    sample = samples / f"{name}.xlsx"
    target = folder / "proposta.yaml"
    made = xlbridge("resources", "new", "--from", sample, "--name", "proposta", "-o", target)
    assert made.returncode == 0, made.stderr
    done = xlbridge("validate", sample, "--resource", "proposta")
    assert "errors: 0" in done.stdout, done.stdout


def test_sheet_without_rows_is_not_an_example(xlbridge: Xlbridge, tmp_path: Path) -> None:
    path = tmp_path / "vazia.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet().write_row(0, 0, HEADER)
    done = xlbridge("resources", "new", "--from", path)
    assert done.returncode == 2
    assert "no header row with rows of data" in done.stderr
    assert "Traceback" not in done.stderr


def test_existing_file_is_not_overwritten(
    xlbridge: Xlbridge, example: Path, tmp_path: Path
) -> None:
    target = tmp_path / "centros.yaml"
    target.write_text("mine", encoding="utf-8")
    done = xlbridge("resources", "new", "--from", example, "-o", target)
    assert done.returncode == 2
    assert target.read_text("utf-8") == "mine"
