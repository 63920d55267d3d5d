"""An export in the layout of an import sheet, uploaded again, changes nothing."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from environment import Xlbridge, credentials
from reading import write_all

from xlbridge.export import FORMATS, LISTINGS
from xlbridge.sandbox import RunningSandbox


@pytest.mark.parametrize(
    ("listing", "resource", "filters"),
    [
        ("clientes", "cliente", ["--from", "20/10/2026"]),
        ("contasreceber", "contasreceber", ["--client"]),
        ("contaspagar", "contaspagar", []),
        ("mapeamento", "enderecamento-de-produto", []),
    ],
)
def test_an_unedited_export_is_unchanged_when_uploaded(
    tmp_path: Path,
    demo: RunningSandbox,
    xlbridge: Xlbridge,
    listing: str,
    resource: str,
    filters: list[str],
    fetch: Callable[..., list[dict[str, Any]]],
) -> None:
    sheet = tmp_path / "sheet.xlsx"
    environment = credentials(demo)
    if filters == ["--client"]:
        (title, *_) = fetch("/v2/financeiro/contasreceber")
        filters = [*filters, str(title["codigoDoCliente"])]
    layout = ["--as-template", resource, *filters]
    done = xlbridge("export", listing, "-o", sheet, *layout, **environment)
    assert done.returncode == 0, done.stderr
    checked = xlbridge("validate", sheet, "--format", "json", **environment)
    report, *lists = json.loads(checked.stdout)["files"]
    assert report["resource"] == resource
    assert [one["findings"] for one in (report, *lists)] == [[]] * (1 + len(lists))
    assert report["rows"] > 0
    # Lists cannot be imported; without changes there is nothing to confirm either.
    mode = "records" if lists else "preview"
    planned = xlbridge("upload", sheet, "--mode", mode, "--format", "json", **environment)
    assert planned.stdout, planned.stderr
    plan = json.loads(planned.stdout)["plan"]
    assert (plan["create"], plan["update"]) == (0, 0)
    # A client without a document has nothing that it is found by.
    without_key = plan["unread"] if resource == "cliente" else 0
    assert plan["unchanged"] == report["rows"] - without_key
    assert without_key <= report["rows"] // 10


def test_parquet_keeps_types_and_cents(
    tmp_path: Path, demo: RunningSandbox, xlbridge: Xlbridge
) -> None:
    output = tmp_path / "cr.parquet"
    done = xlbridge("export", "contasreceber", "-o", output, **credentials(demo))
    assert done.returncode == 0, done.stderr
    table = pq.read_table(output)
    assert str(table.schema.field("valorDoLancamento").type).startswith("decimal128")
    assert str(table.schema.field("dataDeVencimento").type).startswith("timestamp")
    assert str(table.schema.field("codigoDoItemDeLancamento").type) == "string"
    assert table.num_rows > 20
    assert (tmp_path / "cr.rateio.parquet").exists()


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (0.30000000000000004, "0.300000000000"),
        ("12345678901234567890.1234567890125", "12345678901234567890.123456789012"),
        (1e-13, "0.000000000000"),
    ],
)
def test_parquet_rounds_to_the_precision_of_its_columns(
    tmp_path: Path, value: object, kept: str
) -> None:
    listing, output = LISTINGS["contasreceber"], tmp_path / "cr.parquet"
    key = dict.fromkeys(listing.key, 1)
    records = [key | {"valorDoLancamento": Decimal(str(amount))} for amount in (value, "1.50")]
    write_all(output, records, listing.sheets, FORMATS["parquet"])
    values = pq.read_table(output)["valorDoLancamento"].to_pylist()
    assert values == [Decimal(kept), Decimal("1.50")]
