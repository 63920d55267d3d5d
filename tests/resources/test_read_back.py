"""Declarations of how records are read back name existing fields."""

from pathlib import Path

import pytest
from environment import ROOT

from xlbridge.errors import SchemaFileError
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.resources.remote import record_fields
from xlbridge.wire import record_model


def test_every_declared_name_exists(catalogue: Catalogue) -> None:
    declared = [r for r in catalogue.values() if r.read_back is not None]
    assert len(declared) >= 4
    for resource in declared:
        read_back = resource.read_back
        assert read_back is not None
        of_keys = {name for lookup in read_back.lookups for name in lookup.key}
        assert of_keys >= set(resource.natural_keys) or read_back.number_operations
        assert set(read_back.compare) | set(read_back.renamed) == {
            column.name for column in resource.sent_columns
        }
        for lookup in read_back.lookups:
            assert set(lookup.key) <= set(resource.by_name)
            for operation in lookup.operations:
                model = record_model(operation.data)
                assert model is not None
                assert {*lookup.key.values(), *read_back.codes} <= set(model.model_fields)
                query = operation.query.model_fields if operation.query else ()
                assert set(lookup.filters) <= {*query, *operation.path_parameters}
        for name in read_back.operation_names:
            fields = record_fields(name)
            assert {*read_back.codes, *read_back.fields.values()} <= fields


@pytest.mark.parametrize(
    ("old", "new", "pattern"),
    [
        ("existing: refused", "existing: perhaps", "existing.*'perhaps'"),
        ("registry.clients.list", "registry.clients.create", "operations.*create"),
        ("blank: {natureza: J}", "apart: [nome]", "apart.*'nome'"),
        ("blank: {natureza: J}", "blank: {nome: J}", "blank.*'nome'"),
        ("blank: {natureza: J}", "blank_as: {email: nome}", "blank_as.*'nome'"),
        ("filter: {cnpjcpf: cnpj}", "filter: {cnpjcpf: cnpf}", "'cnpf'"),
        ("blank: {natureza: J}", "fields: {nome: nomeComercial}", "fields.*'nome'"),
        ("blank: {natureza: J}", "by_number: [registry.clients.create]", "by_number.*create"),
    ],
)
def test_mistakes_are_reported_with_their_location(
    tmp_path: Path, old: str, new: str, pattern: str
) -> None:
    text = (ROOT / "schemas" / "cliente.yaml").read_text(encoding="utf-8")
    path = tmp_path / "cliente.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(SchemaFileError, match=pattern):
        load_catalogue(tmp_path)
