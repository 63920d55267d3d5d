"""An export in the layout of an import sheet, uploaded again, changes nothing.

Inside: export.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from environment import Xlbridge, credentials
from reading import write_all
from sampling import sampled

from xlbridge.errors import UsageError
from xlbridge.export import FORMATS, LISTINGS
from xlbridge.export.layout import require_records_of
from xlbridge.resources import load_catalogue
from xlbridge.sandbox import RunningSandbox

LANGUAGES = ("pt-BR", "en")
FILTERS = {
    "clientes": ["--from", "20/10/2026"],
    "contatos": ["--client", "1001-1020"],
    "pedidos": ["--limit", "30"],
}
"""Filters of listings with many records, or a call for each."""


def sheets_to_fill() -> list[tuple[str, str]]:
    """Return the pairs of a listing of open records and a resource whose sheet it fills."""
    found = []
    for listing in LISTINGS.values():
        for resource in load_catalogue().values():
            with suppress(UsageError):
                require_records_of(listing, resource)
                if not listing.is_settled:
                    found.append((listing.name, resource.name))
    return found


@pytest.mark.parametrize(
    ("listing", "resource", "language"),
    sampled(
        ((*pair, language) for pair in sheets_to_fill() for language in LANGUAGES),
        # Every fourth pair in one language, in turn.
        lambda index, _: index % 16 in {0, 9},
    ),
)
def test_an_unedited_export_is_unchanged_when_uploaded(
    tmp_path: Path,
    demo: RunningSandbox,
    xlbridge: Xlbridge,
    forks: None,
    listing: str,
    resource: str,
    language: str,
    fetch: Callable[..., list[dict[str, Any]]],
) -> None:
    sheet = tmp_path / "sheet.xlsx"
    environment = credentials(demo) | {"XLBRIDGE_LANG": language}
    filters = FILTERS.get(listing, [])
    if listing == "contasreceber":
        (title, *_) = fetch("/v2/financeiro/contasreceber")
        filters = ["--client", str(title["codigoDoCliente"])]
    if listing == "nfe":
        numbers = [one["idNF"] for one in fetch(LISTINGS["pedidos"].operation.path) if one["idNF"]]
        filters = [word for number in numbers[:10] for word in ("--id", str(number))]
    layout = ["--as-template", resource, *filters]
    done = xlbridge("export", listing, "-o", sheet, *layout, **environment)
    assert done.returncode == 0, done.stderr
    checked = xlbridge("validate", sheet, "--format", "json", **environment)
    report, *lists = json.loads(checked.stdout)["files"]
    assert report["resource"] == resource
    assert [one["findings"] for one in (report, *lists)] == [[]] * (1 + len(lists))
    assert report["rows"] > 0
    # Without changes there is nothing to confirm.
    planned = xlbridge("upload", sheet, "--format", "json", **environment)
    assert planned.stdout, planned.stderr
    plan = json.loads(planned.stdout)["plan"]
    assert (plan["create"], plan["update"]) == (0, 0)
    # A client without a document has nothing that it is found by.
    without_key = plan["unread"] if resource == "cliente" else 0
    assert plan["unchanged"] == report["rows"] - without_key
    assert without_key <= report["rows"] // 10


@pytest.mark.parametrize("headers", ["titles", "names"])
def test_an_unedited_open_document_is_unchanged_when_uploaded(
    tmp_path: Path, demo: RunningSandbox, xlbridge: Xlbridge, headers: str
) -> None:
    sheet = tmp_path / "centros.ods"
    environment = credentials(demo)
    done = xlbridge("export", "centros-custo", "-o", sheet, "--headers", headers, **environment)
    assert done.returncode == 0, done.stderr
    planned = xlbridge("upload", sheet, "--format", "json", **environment)
    plan = json.loads(planned.stdout)["plan"]
    assert plan["unchanged"] > 0
    assert sum(plan.values()) == plan["unchanged"]


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
