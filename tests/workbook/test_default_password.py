"""Workbooks with Excel's default password open without asking, others are refused."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter
from environment import Xlbridge
from packing import packed, unpacked
from password import DEFAULT, encrypt_package, encrypt_xls
from sheets import GOOD, write_records, write_rows
from xls_writer import write_xls
from xlsb_writer import write_xlsb

from xlbridge.errors import WorkbookRefused
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook import WorkbookOrigin
from xlbridge.workbook.read import read_workbook

KINDS = Path(__file__).parent / "kinds"


def _padded(path: Path) -> Path:
    """Return a package as large as those that programs encrypt."""
    path.write_bytes(packed({**unpacked(path), "docProps/padding.xml": bytes(range(256)) * 32}, 0))
    return path


def _xlsx(folder: Path, password: str) -> Path:
    plain = _padded(write_records(folder / "plain.xlsx", "cliente", [{}]))
    return encrypt_package(plain, folder / "a.xlsx", password)


def _xlsb(folder: Path, password: str) -> Path:
    source = write_records(folder / "plain.xlsx", "cliente", [{}])
    plain = _padded(write_xlsb(source, folder / "plain.xlsb"))
    return encrypt_package(plain, folder / "a.xlsb", password)


def _xls(folder: Path, password: str) -> Path:
    return encrypt_xls(KINDS / "client.xls", folder / "a.xls", password)


MAKERS: dict[str, Callable[[Path, str], Path]] = {"xlsx": _xlsx, "xlsb": _xlsb, "xls": _xls}


@pytest.mark.parametrize("kind", MAKERS)
def test_the_default_password_is_not_asked_for(
    kind: str, tmp_path: Path, xlbridge: Xlbridge
) -> None:
    path, copy = MAKERS[kind](tmp_path, DEFAULT), tmp_path / "marked.xlsx"
    options = ["--format", "json", "--annotate", copy]
    done = xlbridge("validate", str(path), *options)
    (report,) = json.loads(done.stdout)["files"]
    assert (report["resource"], report["rows"], report["findings"]) == ("cliente", 1, [])
    again = xlbridge("validate", str(copy), "--format", "json")
    (report,) = json.loads(again.stdout)["files"]
    assert (report["resource"], report["rows"], report["findings"]) == ("cliente", 1, [])


CONTENTS: dict[str, list[list[str | float]]] = {
    "numbers": [["valor", "saldo"], [1.5, 2.0], [3.25, 4.0]],
    "letters": [["ação", "nº"], ["São José", "1º"], ["“x”", "—"]],
    "many rows": [["código", "nome"], *([n, f"Cliente {n}"] for n in range(1_500))],
    "many columns": [[f"c{n}" for n in range(60)], [float(n) for n in range(60)]],
    "long texts": [["historico"], ["Parcela " * 400], ["x"]],
}


@pytest.mark.parametrize("form", ["xlsx", "xlsb", "xls"])
@pytest.mark.parametrize("name", CONTENTS)
def test_a_workbook_with_the_default_password_is_read_as_without_it(
    name: str, form: str, tmp_path: Path
) -> None:
    rows = CONTENTS[name]
    if form == "xls":
        path = encrypt_xls(write_xls(tmp_path / "plain.xls", rows), tmp_path / "a.xls")
    else:
        plain = write_rows(tmp_path / "plain.xlsx", [str(text) for text in rows[0]], rows[1:])
        if form == "xlsb":
            plain = write_xlsb(plain, tmp_path / "plain.xlsb")
        path = encrypt_package(_padded(plain), tmp_path / f"a.{form}")
    limits = WorkbookLimits()
    (sheet,) = read_workbook(path, limits, trusted=path.read_bytes()).sheets
    assert [sheet.row(n) for n in range(sheet.height)] == rows


@pytest.mark.parametrize("kind", MAKERS)
def test_another_password_is_needed(kind: str, tmp_path: Path) -> None:
    path = MAKERS[kind](tmp_path, "segredo")
    with pytest.raises(WorkbookRefused) as refused:
        read_workbook(path, WorkbookLimits(), trusted=path.read_bytes())
    assert refused.value.code == "encrypted"


def test_formats_of_an_encrypted_workbook_are_checked(tmp_path: Path, xlbridge: Xlbridge) -> None:
    plain = tmp_path / "plain.xlsx"
    names = list(GOOD["contasreceber"])
    with xlsxwriter.Workbook(plain) as book:
        page = book.add_worksheet("contasreceber")
        page.write_row(0, 0, names)
        percent = book.add_format({"num_format": "0%"})
        page.write_number(1, names.index("valorDoLancamento"), 0.5, percent)
    path = encrypt_package(_padded(plain), tmp_path / "a.xlsx")
    for file in (plain, path):
        done = xlbridge("validate", str(file), "--format", "json")
        (report,) = json.loads(done.stdout)["files"]
        assert "number-percent" in [one["code"] for one in report["findings"]]


def test_an_encrypted_workbook_carries_its_origin(tmp_path: Path, xlbridge: Xlbridge) -> None:
    plain = tmp_path / "modelo.xlsx"
    assert xlbridge("template", "cliente", "-o", plain).returncode == 0
    path = encrypt_package(plain, tmp_path / "a.xlsx")
    assert WorkbookOrigin.of(path) == WorkbookOrigin.of(plain) is not None
    assert WorkbookOrigin.of(encrypt_package(plain, tmp_path / "b.xlsx", "segredo")) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (rb'spinCount="100000"', b'spinCount="999999"9' + b" "),
        (rb'spinCount="100000"', b"spinCount='9999999'"[:18]),
        (rb"spinCount", b"SpinCount"),
        (rb"<\?xml", b"<!xml"),
        (rb"keyEncryptor ", b"keyEncrypter "),
    ],
)
def test_a_hostile_description_of_the_password_is_refused_at_once(
    old: bytes, new: bytes, tmp_path: Path
) -> None:
    path = _xlsx(tmp_path, DEFAULT)
    changed, count = re.subn(old, new, path.read_bytes())
    assert count
    path.write_bytes(changed)
    with pytest.raises(WorkbookRefused) as refused:
        read_workbook(path, WorkbookLimits(), trusted=changed)
    assert refused.value.code == "encrypted"
