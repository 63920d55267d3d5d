"""Shipped schema files are complete, match the wire models, and can be read by pandera.

Inside: resources.
"""

import subprocess
import sys
import types
import typing
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pandera.pandas as pa
import pytest
import yaml

import xlbridge.checks  # noqa: F401 - it registers the checks with pandera
from xlbridge.errors import UsageError
from xlbridge.resources import Catalogue, Kind
from xlbridge.resources.checks import CATALOGUE, ROW_RULES, RULES
from xlbridge.resources.references import REFERENCES
from xlbridge.resources.schema_content import completed
from xlbridge.resources.yaml_files import YamlDocument

RESOURCES = (
    "categoriacliente",
    "centrodecusto",
    "cliente",
    "clientecontato",
    "contaspagar",
    "contasreceber",
    "enderecamento-de-produto",
    "entrada",
    "fornecedor",
    "inventario",
    "nfe",
    "nota-fiscal-servico",
    "ordem",
    "pedido-compra",
    "pedido",
    "planejamento",
    "previsao",
    "produto",
    "requisicao",
    "saida",
    "tipo-de-produto",
    "tipocliente",
)
PYTHON_TYPES = {
    Kind.INTEGER: int,
    Kind.NUMBER: Decimal,
    Kind.MONEY: Decimal,
    Kind.DATE: datetime,
    Kind.BOOLEAN: bool,
}


def test_the_resources_are_shipped(catalogue: Catalogue) -> None:
    assert tuple(catalogue) == RESOURCES
    with pytest.raises(UsageError) as caught:
        catalogue.named("vendedor")
    assert caught.value.hint is not None
    assert "cliente, clientecontato, contaspagar" in caught.value.hint.en


@pytest.mark.parametrize("name", ["nfse", "NFSe", "nfs-e", "nfs"])
def test_service_invoices_have_the_names_of_their_paths_too(
    catalogue: Catalogue, name: str
) -> None:
    assert catalogue.named(name).name == "nota-fiscal-servico"
    assert name not in catalogue


def plain_type(annotation: object) -> type:
    """Return the Python type of a field, without None, annotations and literals."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        (annotation,) = [a for a in typing.get_args(annotation) if a is not type(None)]
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    if typing.get_origin(annotation) is typing.Literal:
        annotation = type(typing.get_args(annotation)[0])
    assert isinstance(annotation, type)
    return annotation


def is_list(annotation: object) -> bool:
    """Return whether a field holds several objects, which a cell cannot."""
    return typing.get_origin(annotation) is list


CHILDREN = (
    "nfe.produtos",
    "ordem.itens",
    "pedido-compra.itens",
    "pedido.produtos",
    "pedido.parcelas",
    "requisicao.itens",
)


@pytest.mark.parametrize("name", [*RESOURCES, *CHILDREN])
def test_columns_match_the_wire_model(catalogue: Catalogue, name: str) -> None:
    resource = catalogue[name]
    model = resource.row_model
    assert model is not None
    fields = {n: f for n, f in model.model_fields.items() if not is_list(f.annotation)}
    taken = [
        column for column in resource.sent_columns if column.name not in resource.set_by_change
    ]
    assert {column.name for column in taken} == set(fields)
    for column in taken:
        field = fields[column.name]
        # The interface types the numbers of other documents as decimals.
        whole = {int, Decimal} if column.kind is Kind.INTEGER else set()
        allowed = whole or {PYTHON_TYPES.get(column.kind, str)}
        assert plain_type(field.annotation) in allowed, column.name
        assert column.required == field.is_required(), column.name


@pytest.mark.parametrize("name", RESOURCES)
def test_pandera_reads_the_same_file(catalogue: Catalogue, name: str, tmp_path: Path) -> None:
    resource = catalogue[name]
    whole = tmp_path / "whole.yaml"
    content = completed(YamlDocument(resource.source.read_text(encoding="utf-8")).content)
    whole.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    schema = pa.DataFrameSchema.from_yaml(whole)
    assert list(schema.columns) == [column.name for column in resource.sent_columns]
    for column in resource.sent_columns:
        declared = schema.columns[column.name]
        assert declared.nullable is not column.required
        assert declared.required is column.required
        assert [check.name for check in declared.checks] == list(column.checks)
        assert not declared.coerce
    assert [check.name for check in schema.checks] == [c.name for c in resource.row_checks]
    typed = {column.name: pd.Series([], dtype=column.dtype) for column in resource.columns}
    schema.validate(pd.DataFrame(typed))


@pytest.mark.parametrize("name", RESOURCES)
def test_every_column_is_explained(catalogue: Catalogue, name: str) -> None:
    resource = catalogue[name]
    assert set(resource.natural_keys) <= set(resource.by_name)
    for column in resource.columns:
        assert column.title.pt
        assert column.title.en
        assert column.description
        assert column.example is not None
        if column.references:
            assert column.references in REFERENCES


def test_every_rule_has_a_function_and_a_finding() -> None:
    for name, rule in RULES.items():
        assert CATALOGUE[rule.finding.code] is rule.finding
        assert rule.column_test or callable(getattr(pa.Check, name))
    for row_rule in ROW_RULES.values():
        assert row_rule.finding is None or CATALOGUE[row_rule.finding.code] is row_rule.finding


def test_fingerprints_differ_and_name_the_resource(catalogue: Catalogue) -> None:
    prints = [resource.fingerprint for resource in catalogue.values()]
    assert len(set(prints)) == len(prints)
    assert all(text.startswith(f"{name}:") for name, text in zip(catalogue, prints, strict=True))


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (
            "cnpj",
            ["11222333000181", "12ABC34501DE35"],
            ["11222333000182", "1", "12abc34501DE3"],
        ),
        ("cpf", ["52998224725"], ["52998224724", "529.982.247-25", "11111111111"]),
        (
            "email",
            ["a@b.co", "maria.silva+x@empresa.com.br"],
            ["a@b", "a b@c.com", "@b.com", "a@b.com,c@d.com"],
        ),
        (
            "boleto",
            [
                "00193373700000001000500940144816060680935031",
                "00190500954014481606906809350314337370000000100",
                "836400000011331201380002812884627116080136181551",
            ],
            [
                "00193373700000001000500940144816060680935032",
                "00190500954014481606906809350314337370000000101",
                "836400000011331201380002812884627116080136181552",
                "٠٠١٩",
                "",
            ],
        ),
    ],
)
def test_documents_emails_and_barcodes_are_checked(
    check: str, right: list[str], wrong: list[str]
) -> None:
    column_test = RULES[check].column_test
    assert column_test is not None
    values = pd.Series([*right, *wrong, None], dtype="str")
    expected = [True] * len(right) + [False] * len(wrong) + [True]
    assert column_test(values).tolist() == expected


def test_conditions_are_worded_as_cells_display_them() -> None:
    wording = ROW_RULES["required_when"].wording(
        {"column": "motivo", "other": "aprovada", "values": [False, None]}
    )
    assert wording.pt == "motivo: obrigatória quando aprovada é FALSO ou está em branco"
    assert wording.en == "motivo: required when aprovada is FALSE or blank"


def test_only_the_first_of_many_allowed_values_are_named() -> None:
    rule = RULES["isin"]
    few, many = ({"value": [f"v{n}" for n in range(count)]} for count in (12, 300))
    assert rule.wording(few).en == "one of: " + ", ".join(few["value"])
    assert str(rule.details(many)["allowed"]) == f"{', '.join(few['value'])}… (300 in all)"


def test_equal_limits_are_worded_as_one_length() -> None:
    assert RULES["str_length"].wording({"min_value": 7, "max_value": 7}).pt == "7 caracteres"
    assert RULES["in_range"].wording({"min_value": 1, "max_value": 7}).pt == "de 1 a 7"


FIRST_USE = """
import sys, threading
from xlbridge.resources import load_catalogue
sys.setswitchinterval(1e-6)
together = threading.Barrier(8)
def load():
    together.wait()
    loaded.append(sorted(load_catalogue()))
loaded = []
threads = [threading.Thread(target=load) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(loaded) == 8 and all(names == loaded[0] for names in loaded)
"""


@pytest.mark.processes
def test_threads_load_the_catalogue_for_the_first_time_at_once() -> None:
    """It crashed many of these processes."""
    started = [subprocess.Popen([sys.executable, "-c", FIRST_USE]) for _ in range(4)]
    assert [process.wait() for process in started] == [0] * 4
