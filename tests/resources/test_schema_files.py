"""A mistake in a schema file is named with the file, the place, and what is allowed there."""

from pathlib import Path

import pytest

from xlbridge.errors import SchemaFileError
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.resources.schema_file import read_schema_file

GOOD = """\
schema_type: dataframe
version: 0.35.0
title: Vendedores
metadata:
  resource: vendedor
  import: {direct: imports.direct}
  columns:
    codigo: {kind: code}
columns:
  codigo:
    dtype: str
    nullable: false
    digits: {width: 4}
checks:
  - options: {check_name: no_repeated_rows}
    column: codigo
    columns: [codigo]
"""


def test_a_users_own_file_joins_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "vendedor.yaml").write_text(GOOD, encoding="utf-8")
    resource = load_catalogue(tmp_path)["vendedor"]
    assert resource.columns[0].width == 4
    assert resource.paths.queue is None
    assert load_catalogue(tmp_path / "none").get("vendedor") is None


@pytest.mark.parametrize(
    ("old", "new", "place", "allowed"),
    [
        ("dtype: str", "dtype: text", "columns.codigo.dtype", "Int64"),
        ("kind: code", "kind: codes", "metadata.columns.codigo.kind", "cnpj"),
        ("kind: code", "kind: money", "metadata.columns.codigo.kind", "str"),
        ("digits:", "digts:", "columns.codigo.digts", "digits"),
        ("width: 4", "wide: 4", "columns.codigo.digits.wide", "width"),
        ("imports.direct", "imports.all", "metadata.import.direct", "imports.direct"),
        ("check_name: no_repeated_rows", "check_name: x", "check_name", "not_before"),
        ("columns: [codigo]", "columns: [cor]", "no_repeated_rows", "codigo"),
        ("    codigo: {kind", "    cor: {kind", "metadata.columns.cor", "codigo"),
        ("resource: vendedor", "resource: ''", "metadata.resource", ""),
        ("import: {direct: imports.direct}", "import: yes", "metadata.import", ""),
        ("title: Vendedores", "title: [", "", ""),
        ("resource: vendedor", "resource: vendedor\n  layout: um", "metadata.layout", ""),
        ("resource: vendedor", "resource: vendedor\n  model: registry.Seller", "model", "Seller"),
        ("    column: codigo\n", "", "checks.no_repeated_rows", "column"),
        ("digits: {width: 4}", "in_range: {min_value: 1}", "columns.codigo.in_range", "max_value"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, place: str, allowed: str) -> None:
    path = tmp_path / "vendedor.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        read_schema_file(path)
    message = caught.value.message.en
    assert message.startswith(str(path))
    assert place in message
    assert allowed in message
