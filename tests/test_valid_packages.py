"""Every kind of workbook that is written is valid: schemas and rules of Office Open XML, of ODF.

The rules are those of the Open XML SDK: order and types of elements, relationships, references.
Programs read each workbook alike.
"""

import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas
import pytest
from environment import Xlbridge, credentials
from lxml import etree
from sheets import write_records

from xlbridge.sandbox import RunningSandbox

pytest.importorskip("openxml_audit")

SAMPLES = Path(__file__).parents[1] / "samples"
PLAN = """\
name: packages
steps:
  receber: {upload: "batch-*.xlsx", resource: contasreceber}
"""


def mistakes(path: Path) -> list[str]:
    """Return what a validator of packages finds in a workbook."""
    from openxml_audit import FileFormat, OpenXmlValidator
    from openxml_audit.odf import OdfValidator

    is_ods = path.suffix == ".ods"
    validator = OdfValidator() if is_ods else OpenXmlValidator(FileFormat.MICROSOFT_365)
    found = [
        f"{path.name}: {error.part_uri} {error.path} {error.description}"
        for error in validator.validate(path).errors
        if error.severity.value == "error" and not OBJECT_AS_FILE.search(error.description)
    ]
    return [*found, *mistakes_by_schema(path)] if is_ods else found


OBJECT_AS_FILE = re.compile("Frame child references 'Object [0-9]+' which is not present")
"""What the validator also says of LibreOffice's own files: it takes a folder for a file."""


def mistakes_by_schema(path: Path) -> Iterator[str]:
    """Yield what the schema of ODF says about the documents of a spreadsheet, charts included."""
    import openxml_audit

    schemas = Path(openxml_audit.__file__).parent / "odf/schemas/odf-1.3"
    schema = etree.RelaxNG(etree.parse(schemas / "OpenDocument-v1.3-schema.rng"))
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            of_odf = name.endswith(".xml") and not name.startswith("META-INF")
            if of_odf and not schema.validate(etree.fromstring(archive.read(name))):
                yield f"{path.name}: {name} {schema.error_log.last_error}"


def values(path: Path, engine: str) -> dict[object, list[list[object]]]:
    """Return the values of a workbook's sheets as one of the engines of pandas reads them."""
    frames = pandas.read_excel(
        path, sheet_name=None, header=None, dtype=object, na_filter=False, engine=engine
    )
    filled = {
        name: [
            [value for value in row if value not in ("", None) and value == value] for row in rows
        ]
        for name, frame in frames.items()
        for rows in [frame.to_numpy().tolist()]
    }
    return {name: [*filter(None, rows)] for name, rows in filled.items()}


def write_every_kind(xlbridge: Xlbridge, sandbox: RunningSandbox, folder: Path) -> Iterator[Path]:
    """Yield a workbook of each kind as soon as it is written."""
    environment = credentials(sandbox)

    def run(expected: int, *arguments: object) -> None:
        done = xlbridge(*arguments, **environment)
        assert done.returncode == expected, (arguments, done.stdout, done.stderr)

    wrong = SAMPLES / "contasreceber-com-erros.xlsx"
    run(0, "template", "contasreceber", "-o", folder / "template.xlsx")
    run(0, "template", "pedido", "--with-lists", "-o", folder / "lists.xlsx")
    migrated = folder / "migrated.xlsx"
    run(0, "template", "contasreceber", "--migrate", wrong, "--headers", "names", "-o", migrated)
    fixed = ("--fix", folder / "fixed.xlsx", "--annotate", folder / "marked.xlsx")
    run(1, "validate", wrong, *fixed)
    sent = folder / "sent.xlsx"
    shutil.copyfile(SAMPLES / "contasreceber-cliente-inativo.xlsx", sent)
    run(1, "upload", sent, "--yes", "--annotate", folder / "state.xlsx")
    assert len([*folder.glob("sent-*.xlsx")]) == 1  # the rejected rows
    for name in ("book.xlsx", "book.ods"):
        run(0, "export", "contasreceber", "-o", folder / name)
    run(0, "export", "contasreceber", "--as-template", "-o", folder / "sheet.xlsx")
    # Sheets with a part of their columns on paper, lists of records, and bars to both sides.
    orders = ("export", "pedidos", "--limit", "5", "-o")
    run(0, *orders, folder / "orders.xlsx")
    run(0, *orders, folder / "order-sheets.xlsx", "--as-template")
    run(0, *orders, folder / "flat.xlsx", "--flat", "parcelas", "--headers", "names")
    run(0, "export", "movimentacoes", "--product", "2001-2009", "-o", folder / "moved.xlsx")
    run(0, "export", "clientes", "--from", "20/10/2026", "-o", folder / "clients.ods")
    shutil.copyfile(folder / "book.xlsx", folder / "refreshed.xlsx")
    run(0, "export", "contasreceber", "--into", folder / "refreshed.xlsx", "--yes")
    write_records(folder / "batch-1.xlsx", "contasreceber", [{"numeroDoDocumento": "PACKAGE-1"}])
    (folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
    run(0, "batch", "run", folder / "plan.yaml", "--yes")
    assert (folder / "packages-proof.xlsx").exists()
    yield from sorted(folder.glob("*.xlsx"))
    yield from sorted(folder.glob("*.ods"))


def test_every_kind_of_workbook_is_valid(
    xlbridge: Xlbridge, demo_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    written = [*write_every_kind(xlbridge, demo_sandbox, tmp_path)]
    assert len(written) == 19
    assert [mistake for path in written for mistake in mistakes(path)] == []
    for path in written:
        if path.suffix == ".xlsx":
            assert values(path, "openpyxl") == values(path, "calamine"), path.name
    # The validator notices what is in the wrong order.
    broken = tmp_path / "broken.xlsx"
    with zipfile.ZipFile(tmp_path / "book.xlsx") as good, zipfile.ZipFile(broken, "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            if name == "xl/worksheets/sheet2.xml":
                content = content.replace(b"<sheetData>", b"<mergeCells/><sheetData>")
            bad.writestr(name, content)
    assert mistakes(broken) != []
