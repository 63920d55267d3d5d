"""Linked columns: links in a plan, checks of cells, and resolution to codes."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sheets import write_records, write_rows

from xlbridge.client import Client
from xlbridge.client.registries import Registries
from xlbridge.resources import (
    Catalogue,
    Kind,
    load_catalogue,
)
from xlbridge.resources.checks import DOCUMENTS
from xlbridge.resources.links import link_mistakes, linked_catalogue
from xlbridge.resources.references import REFERENCES
from xlbridge.upload.lookup import LinkResolver, OnlineCheck, comparable_key
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.workbook.write import write_template

BY_OWN_CODE = {"codigoDoCliente": "seuCodigo"}
BY_CNPJ = {"codigoDoCliente": "cnpj"}
CLIENTS = REFERENCES["cliente"]
INACTIVE = 1032


def judged(
    path: Path, catalogue: Catalogue, links: Mapping[str, str], *named: object
) -> ValidatedSheet:
    changes = [{"codigoDoCliente": name} for name in named]
    write_records(path, "contasreceber", changes)
    return validate_workbook(path, linked_catalogue(links, catalogue), resource="contasreceber")


def codes(sheet: ValidatedSheet) -> list[tuple[str | None, str]]:
    return [(finding.cell, finding.kind.code) for finding in sheet.findings]


def filled_in(sheet: ValidatedSheet, client: Client) -> ValidatedSheet:
    return LinkResolver(Registries(client)).fill_in(sheet)


@pytest.fixture
def new_client(client: Client) -> Any:
    """Register a client with its own code; return the system's code."""

    def register(own: str) -> int:
        body = {"nomeComercial": own, "seuCodigo": own}
        answer = client.raw("POST", "/v2/cliente", body=body).json()
        return int(answer["data"]["codigoDoCliente"])

    return register


@pytest.mark.parametrize(
    ("links", "resource", "message"),
    [
        ({"codigoDoCliente": "seuCodigo"}, "contasreceber", None),
        ({"codigoDoCliente": "cnpj"}, None, None),
        ({"codigoCliente": "cnpj"}, "contasreceber", "'codigoCliente' .*codigoDoCliente"),
        ({"historico": "cnpj"}, "contasreceber", "historico refers to no registry.*codigoDoClie"),
        (
            {"codigoDaFilial": "cnpj"},
            "contasreceber",
            "'cnpj' does not identify a record of the branches.*: filial",
        ),
        ({"codigoDoFornecedor": "cnpj"}, "contaspagar", None),
        ({"codigoDaContaCorrente": "cnpj"}, "contaspagar", "refers to no registry"),
        (
            {"codigoDoCliente": "nomeComercial"},
            "contasreceber",
            "'nomeComercial' does not identify .*: idws, cnpj, cpf, seuCodigo, cliente",
        ),
        ({"codigoDoCliente": "telefone"}, None, "'telefone' does not identify"),
        ({"codigoDoCliente": "cnpj"}, "contaspagar", "'codigoDoCliente'"),
    ],
)
def test_mistakes_of_links_name_what_is_allowed(
    catalogue: Catalogue, links: Mapping[str, str], resource: str | None, message: str | None
) -> None:
    found = list(link_mistakes(links, catalogue, resource))
    if message is None:
        assert found == []
    else:
        [(column, what)] = found
        assert column in links
        with pytest.raises(AssertionError, match=message):
            raise AssertionError(what.en)
        assert what.pt != what.en


def test_a_linked_column_is_validated_as_the_column_it_is_linked_to(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    named = ["CLI-1", "Loja", 17, " CLI-2 ", "x" * 61, True, None]
    sheet = judged(tmp_path / "r.xlsx", catalogue, BY_OWN_CODE, *named)
    assert codes(sheet) == [
        ("B5", "text-spaces"),
        ("B6", "text-length"),
        ("B7", "type-text"),
        ("B8", "required-missing"),
    ]
    assert sheet.frame["codigoDoCliente"].tolist()[:4] == ["CLI-1", "Loja", "17", "CLI-2"]
    plain = validate_workbook(tmp_path / "r.xlsx", catalogue, resource="contasreceber")
    assert ("B2", "type-integer") in codes(plain)


def test_a_document_in_a_linked_column_loses_its_mask_and_keeps_its_zeros(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    sheet = judged(
        tmp_path / "r.xlsx",
        catalogue,
        BY_CNPJ,
        "11.222.333/0001-81",
        "11222333000181",
        360305000104,
    )
    assert codes(sheet) == [("B4", "code-leading-zeros")]
    assert sheet.frame["codigoDoCliente"].tolist() == [
        "11222333000181",
        "11222333000181",
        "00360305000104",
    ]


def test_rows_are_compared_by_the_records_they_refer_to(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    title = {"numeroDoDocumento": "NF-1", "dataDeVencimento": date(2026, 10, 31)}
    rows = [title | {"codigoDoCliente": name} for name in ("A", "B", "A")]
    path = write_records(tmp_path / "r.xlsx", "contasreceber", rows)
    sheet = validate_workbook(path, linked_catalogue(BY_OWN_CODE, catalogue))
    assert codes(sheet) == [("J4", "duplicate-in-sheet")]


def test_only_the_linked_column_differs(catalogue: Catalogue) -> None:
    real = catalogue["contasreceber"]
    form = linked_catalogue(BY_OWN_CODE, catalogue)[real.name]
    assert (form.base, form.fingerprint) == (real, real.fingerprint)
    assert [c.name for c in form.columns] == [c.name for c in real.columns]
    assert [c.name for c in form.columns if c != real.by_name[c.name]] == ["codigoDoCliente"]
    column = form.by_name["codigoDoCliente"]
    assert (column.kind, column.required, column.references) == (Kind.CODE, True, None)
    assert form.read_back is not None
    assert [dict(lookup.key) for lookup in form.read_back.lookups] == [{"idws": "idws"}]


def test_resources_without_the_column_are_as_they_were(catalogue: Catalogue) -> None:
    forms = linked_catalogue(BY_OWN_CODE, catalogue)
    changed = {name for name in catalogue if forms[name] is not catalogue[name]}
    assert changed == {
        "clientecontato", "contasreceber", "nfe", "nota-fiscal-servico", "pedido", "previsao"
    }  # fmt: skip


def test_a_template_of_the_resource_is_not_outdated(tmp_path: Path, catalogue: Catalogue) -> None:
    path = tmp_path / "t.xlsx"
    write_template(path, catalogue["contasreceber"])
    sheet = validate_workbook(path, linked_catalogue(BY_OWN_CODE, catalogue))
    assert "template-outdated" not in {f.kind.code for f in sheet.findings}
    assert sheet.resource is not None
    assert sheet.resource.base is catalogue["contasreceber"]


def test_codes_are_filled_in_once_the_clients_are_there(
    tmp_path: Path, catalogue: Catalogue, client: Client, new_client: Any
) -> None:
    path = tmp_path / "r.xlsx"
    sheet = judged(path, catalogue, BY_OWN_CODE, "LK-2", "LK-1", " LK-1 ", "LK-9")
    before = filled_in(sheet, client)
    assert codes(before) == [
        ("B2", "link-unknown"),
        ("B3", "link-unknown"),
        ("B4", "text-spaces"),
        ("B4", "link-unknown"),
        ("B5", "link-unknown"),
    ]
    first, second = new_client("LK-1"), new_client("LK-2")
    after = filled_in(sheet, client)
    assert codes(after) == [("B4", "text-spaces"), ("B5", "link-unknown")]
    assert after.resource is catalogue["contasreceber"]
    column = after.frame["codigoDoCliente"]
    assert str(column.dtype) == "Int64"
    assert column.tolist()[:3] == [second, first, first]
    assert pd.isna(column.iat[3])
    assert codes(sheet) == [("B4", "text-spaces")]
    assert sheet.frame["codigoDoCliente"].iat[0] == "LK-2"
    finding = after.findings[-1]
    assert (finding.value, finding.row) == ("LK-9", 5)
    assert "seu código" in finding.message.pt


def test_two_records_and_an_inactive_one_are_not_chosen(
    tmp_path: Path, catalogue: Catalogue, client: Client, new_client: Any
) -> None:
    inactive = next(
        record
        for record in Registries(client).load_all(CLIENTS).records
        if record["codigoDoCliente"] == INACTIVE
    )
    twice = [new_client("LK-TWICE"), new_client("LK-TWICE")]
    sheet = judged(
        tmp_path / "r.xlsx", catalogue, BY_OWN_CODE, "LK-TWICE", inactive["seuCodigo"], "LK-TWICE"
    )
    after = filled_in(sheet, client)
    assert codes(after) == [
        ("B2", "link-ambiguous"),
        ("B3", "reference-inactive"),
        ("B4", "link-ambiguous"),
    ]
    for code in twice:
        assert str(code) in after.findings[0].message.en
    assert after.frame["codigoDoCliente"].isna().all()
    assert not after.ok


def test_documents_are_found_with_and_without_their_mask_beyond_the_cap(
    tmp_path: Path, catalogue: Catalogue, client: Client
) -> None:
    listed = Registries(client).load_all(CLIENTS)
    assert listed.complete
    firms = [
        record
        for record in listed.records
        if record["natureza"] == "J" and record["ativo"] and record["cnpjcpf"]
    ]
    assert len(firms) > 600
    named = [
        DOCUMENTS["cnpj"].masked(r["cnpjcpf"]) if n % 2 else r["cnpjcpf"]
        for n, r in enumerate(firms)
    ]
    after = filled_in(judged(tmp_path / "r.xlsx", catalogue, BY_CNPJ, *named), client)
    assert after.findings == []
    assert after.frame["codigoDoCliente"].tolist() == [r["codigoDoCliente"] for r in firms]


def test_the_online_check_looks_up_linked_cells(
    tmp_path: Path, catalogue: Catalogue, client: Client
) -> None:
    sheet = judged(tmp_path / "r.xlsx", catalogue, BY_OWN_CODE, "LK-NOBODY")
    OnlineCheck(client).add_findings(sheet)
    assert codes(sheet) == [("B2", "link-unknown")]
    assert sheet.resource is catalogue["contasreceber"]


def test_a_sheet_without_links_stays_as_it_is(
    tmp_path: Path, catalogue: Catalogue, client: Client
) -> None:
    sheet = judged(tmp_path / "r.xlsx", catalogue, {}, 1001)
    assert filled_in(sheet, client) is sheet


def test_a_sheet_with_errors_keeps_them(
    tmp_path: Path, catalogue: Catalogue, client: Client
) -> None:
    header = ["codigoDaFilial", "codigoDoItemDeLancamento"]
    path = write_rows(tmp_path / "r.xlsx", header, [[1, "1.01.001"]])
    forms = linked_catalogue(BY_OWN_CODE, catalogue)
    sheet = validate_workbook(path, forms, resource="contasreceber")
    after = filled_in(sheet, client)
    assert after.findings == sheet.findings
    assert after.frame["codigoDoCliente"].isna().all()
    assert str(after.frame["codigoDoCliente"].dtype) == "Int64"


OWN_SUPPLIERS = """\
schema_type: dataframe
version: 0.35.0
title: Fornecedores
coerce: false
strict: false
metadata:
  resource: fornecedor
  import: {direct: imports.direct}
  natural_keys: [cnpj, apelido]
  read_back:
    lookups:
      - key: {cnpj: cnpjcpf}
        operations: [registry.suppliers.list]
    existing: refused
  columns:
    cnpj: {kind: cnpj}
columns:
  nomeComercial: {dtype: str, nullable: false, required: true}
  apelido: {dtype: str, nullable: true}
  cnpj: {dtype: str, nullable: true, no_repeats: {}}
"""


def test_a_resource_of_ones_own_is_linked_by_what_its_listing_has(tmp_path: Path) -> None:
    (tmp_path / "fornecedor.yaml").write_text(OWN_SUPPLIERS, encoding="utf-8")
    catalogue = load_catalogue(tmp_path)
    assert list(link_mistakes({"codigoDoFornecedor": "cnpj"}, catalogue, "contaspagar")) == []
    [(_, what)] = link_mistakes({"codigoDoFornecedor": "apelido"}, catalogue, "contaspagar")
    assert what.en.endswith("allowed here: cnpj, fornecedor.")
    linked = linked_catalogue({"codigoDoFornecedor": "cnpj"}, catalogue)["contaspagar"]
    column = linked.by_name["codigoDoFornecedor"]
    assert column.link is not None
    assert column.link.fields == ("cnpjcpf",)
    assert "no_repeats" not in column.checks


CELLS = st.text(alphabet=" \tAb1-", max_size=3)
SYMBOLS = st.text(alphabet="0123456789ABCDEFGHJKLMNPQRSTUVWXYZ", min_size=12, max_size=12)


@given(base=SYMBOLS, lower=st.booleans(), pad=st.sampled_from(["", " ", "\t"]))
def test_a_document_is_the_same_with_and_without_mask(base: str, lower: bool, pad: str) -> None:
    bare = base + "00"
    written = DOCUMENTS["cnpj"].masked(bare)
    shown = pad + (written.lower() if lower else written) + pad
    assert comparable_key(Kind.CNPJ, shown) == comparable_key(Kind.CNPJ, bare) == bare


@given(one=CELLS, other=CELLS)
def test_own_codes_are_equal_only_up_to_outer_spaces(one: str, other: str) -> None:
    assert (comparable_key(Kind.CODE, one) == comparable_key(Kind.CODE, other)) == (
        one.strip() == other.strip()
    )
    assert comparable_key(Kind.CODE, f" {one} ") == comparable_key(Kind.CODE, one)
