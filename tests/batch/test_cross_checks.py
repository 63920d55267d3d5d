"""Workbooks of a batch checked against one another and a real system."""

from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cross_check_parts import (
    ACTIVE_OWN,
    INACTIVE_OWN,
    STEPS,
    Batch,
    CountingClient,
    CrossWorkbookChecks,
    client_row,
    coded_findings,
    document,
    titles,
)
from hypothesis import HealthCheck, given, settings, strategies as st
from sampling import examples
from sheets import write_records, write_rows

from xlbridge.client import Client
from xlbridge.client.registries import Registries
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.resources.checks import DOCUMENTS
from xlbridge.resources.links import linked_catalogue
from xlbridge.resources.references import REFERENCES
from xlbridge.upload.lookup import LinkResolver
from xlbridge.validation import validate_workbook

INACTIVE, NOBODY = 1032, 999_999
TITLE = {"numeroDoDocumento": "NF-1", "dataDeVencimento": date(2026, 10, 31)}


def test_only_clients_of_the_batch_or_the_system_are_known(
    batch: Batch, registries: Registries
) -> None:
    batch.write("clientes", "c1.xlsx", "cliente", [client_row(1), client_row(2)])
    batch.write("clientes", "c2.xlsx", "cliente", [client_row(3)])
    named = ["AX-3", "AX-1", "AX-4", ACTIVE_OWN, " AX-2 ", INACTIVE_OWN, "ax-1"]
    batch.write("receber", "r.xlsx", "contasreceber", titles(*named))
    checks = batch.cross_checks(registries)
    assert coded_findings(checks.findings()) == [
        ("r.xlsx", "B4", "reference-unknown-in-batch"),
        ("r.xlsx", "B7", "reference-inactive"),
        ("r.xlsx", "B8", "reference-unknown-in-batch"),
    ]
    first = next(f for findings in checks.findings().values() for f in findings)
    assert (first.value, first.row, first.column) == ("AX-4", 4, "codigoDoCliente")
    assert "neither in the workbooks of this batch nor in the system" in first.message.en
    assert "nem no sistema" in first.message.pt


def test_offline_only_the_batch_is_checked(batch: Batch) -> None:
    batch.write("clientes", "c.xlsx", "cliente", [client_row(1), client_row(2, email="nobody")])
    batch.write("receber", "r.xlsx", "contasreceber", titles("AX-1", "AX-2", "AX-3"))
    batch.write("notas", "n.xlsx", "nota-fiscal-servico", titles("AX-9"))
    assert batch.findings() == [("r.xlsx", "B3", "reference-waits")]


def test_a_client_whose_row_has_an_error_is_waited_for(
    batch: Batch, registries: Registries
) -> None:
    rows = [client_row(1), client_row(2, email="nobody"), client_row(3, cnpj="11222333000182")]
    batch.write("clientes", "c.xlsx", "cliente", rows)
    batch.write("receber", "r.xlsx", "contasreceber", titles("AX-1", "AX-2", "AX-3"))
    [waits, _] = findings = batch.cross_checks(registries).findings()[
        batch.folder / "r.xlsx", "Plan1", "contasreceber"
    ]
    assert [(f.cell, f.kind.code) for f in findings] == [
        ("B3", "reference-waits"),
        ("B4", "reference-waits"),
    ]
    assert waits.details["place"] == "c.xlsx · Plan1!D3"


def test_a_client_that_is_in_the_system_is_not_waited_for(
    batch: Batch, registries: Registries
) -> None:
    batch.write("clientes", "c.xlsx", "cliente", [client_row(1, seuCodigo=ACTIVE_OWN, email="?")])
    batch.write("receber", "r.xlsx", "contasreceber", titles(ACTIVE_OWN))
    assert batch.findings(registries) == []


def test_codes_are_checked_without_links_too(batch: Batch, registries: Registries) -> None:
    batch.links = {}
    batch.write("receber", "r.xlsx", "contasreceber", titles(1001, NOBODY, INACTIVE))
    expected = [
        ("r.xlsx", "B3", "reference-unknown"),
        ("r.xlsx", "B4", "reference-inactive"),
    ]
    assert batch.findings(registries) == expected
    batch.write("clientes", "c.xlsx", "cliente", [client_row(1)])
    assert batch.findings(registries)[0] == ("r.xlsx", "B3", "reference-unknown-in-batch")
    assert batch.findings() == []


def test_names_of_two_rows_are_ambiguous_but_repeated_documents_are_reported_there(
    batch: Batch, registries: Registries
) -> None:
    twice = client_row(2, seuCodigo="AX-1")
    batch.write("clientes", "c1.xlsx", "cliente", [client_row(1)])
    batch.write("clientes", "c2.xlsx", "cliente", [twice, client_row(5), client_row(6)])
    batch.write("clientes", "c3.xlsx", "cliente", [client_row(5)])
    batch.write("receber", "r.xlsx", "contasreceber", titles("AX-1", "AX-5"))
    found = batch.cross_checks(registries).findings()
    assert coded_findings(found) == [
        ("c3.xlsx", "C2", "duplicate-across-sheets"),
        ("r.xlsx", "B2", "link-ambiguous"),
    ]
    [ambiguous] = found[batch.folder / "r.xlsx", "Plan1", "contasreceber"]
    assert ambiguous.details["records"] == "c1.xlsx · Plan1!D2; c2.xlsx · Plan1!D2"
    [repeated] = found[batch.folder / "c3.xlsx", "Plan1", "cliente"]
    assert repeated.details["first"] == "c2.xlsx · Plan1!C3"


def test_a_person_is_identified_by_the_document_of_their_kind(
    batch: Batch, registries: Registries
) -> None:
    person = {"natureza": "F", "cpf": "529.982.247-25", "cnpj": None}
    batch.write("clientes", "c.xlsx", "cliente", [person, client_row(7)])
    named = [document(61_000_001), document(60_000_007)]
    batch.links = {"codigoDoCliente": "cnpj"}
    batch.write("receber", "r.xlsx", "contasreceber", titles(*named))
    batch.links = {"codigoDoCliente": "cpf"}
    batch.write("notas", "n.xlsx", "nota-fiscal-servico", titles("52998224725", "11144477735"))
    assert batch.findings(registries) == [
        ("r.xlsx", "B2", "reference-unknown-in-batch"),
        ("n.xlsx", "B3", "reference-unknown-in-batch"),
    ]


def test_a_key_in_two_workbooks_is_found_in_the_one_that_is_sent_later(
    batch: Batch, catalogue: Catalogue
) -> None:
    batch.links = {}
    batch.write("receber", "b.xlsx", "contasreceber", [TITLE | {"idws": "X"}])
    batch.write("receber", "a.xlsx", "contasreceber", [{}, {"idws": "X"}])
    batch.write("receber", "c.xlsx", "contasreceber", [TITLE])
    expected = [
        ("b.xlsx", "K2", "duplicate-across-sheets"),
        ("c.xlsx", "J2", "duplicate-across-sheets"),
    ]
    forwards, backwards = (batch.cross_checks(backwards=way).findings() for way in (False, True))
    assert coded_findings(forwards) == coded_findings(backwards) == expected
    [first] = forwards[batch.folder / "b.xlsx", "Plan1", "contasreceber"]
    assert first.details["first"] == "a.xlsx · Plan1!J3"


def test_indistinguishable_rows_are_an_error(batch: Batch) -> None:
    batch.links = {}
    rows = titles(1001, 1002)
    batch.write("receber", "a.xlsx", "contasreceber", [*rows, {"codigoDoCliente": 1003}])
    batch.write(
        "receber", "b.xlsx", "contasreceber", [rows[1], {"codigoDoCliente": 1003, "historico": "?"}]
    )
    batch.write("notas", "n.xlsx", "nota-fiscal-servico", titles(1001))
    batch.write("notas", "o.xlsx", "nota-fiscal-servico", [{"codigoDoCliente": "x"}, *titles(1001)])
    found = batch.cross_checks().findings()
    assert coded_findings(found) == [
        ("b.xlsx", "A2", "row-repeated"),
        ("o.xlsx", "A3", "row-repeated"),
    ]
    [repeated] = found[batch.folder / "b.xlsx", "Plan1", "contasreceber"]
    assert repeated.details["first"] == "a.xlsx · Plan1!A3"
    assert repeated.kind.severity == "error"


def test_records_that_an_unread_workbook_may_have_are_not_reported_as_missing(
    batch: Batch, registries: Registries, catalogue: Catalogue
) -> None:
    batch.write("receber", "r.xlsx", "contasreceber", titles("AX-1", "AX-2"))
    broken = batch.folder / "c.xlsx"
    for unread in (catalogue["cliente"], None):
        checks = batch.cross_checks(registries)
        checks.add_unsettled(broken, unread)
        findings = checks.findings()[batch.folder / "r.xlsx", "Plan1", "contasreceber"]
        assert [f.kind.code for f in findings] == ["reference-unsettled"] * 2
        assert findings[0].details["files"] == "c.xlsx"
    checks = batch.cross_checks(registries)
    checks.add_unsettled(broken, catalogue["contaspagar"])
    assert {code for _, _, code in coded_findings(checks.findings())} == {
        "reference-unknown-in-batch"
    }
    write_rows(broken, ["nomeComercio", "seuCodigo"], [["Padaria", "AX-1"]])
    checks.add("clientes", validate_workbook(broken, catalogue, resource="cliente"))
    assert coded_findings(checks.findings()) == [
        ("r.xlsx", "B2", "reference-waits"),
        ("r.xlsx", "B3", "reference-unsettled"),
    ]


def test_each_listing_is_requested_once(batch: Batch, client: Client) -> None:
    for number in range(3):
        named = titles(*[f"CLI-{code:05}" for code in range(1001, 1031)])
        batch.write("receber", f"r{number}.xlsx", "contasreceber", named[number * 10 :])
    batch.write("notas", "n.xlsx", "nota-fiscal-servico", titles(ACTIVE_OWN, "AX-77"))
    with CountingClient(client.target, timeout=20) as counting:
        found = batch.findings(Registries(counting))
        asked = counting.asked
    assert [code for file, _, code in found if file == "n.xlsx"] == ["reference-unknown-in-batch"]
    with CountingClient(client.target, timeout=20) as counting:
        once = Registries(counting)
        once.load_all(REFERENCES["cliente"])
        assert asked["registry.clients.list"] == counting.asked["registry.clients.list"] > 1
    assert asked["stock.balances.of_branch"] == 1
    assert asked["registry.cost_centres.list"] == 1


OWN_SUPPLIERS = """\
schema_type: dataframe
version: 0.35.0
title: Fornecedores
coerce: false
strict: false
metadata:
  resource: fornecedor
  import: {direct: imports.direct}
  natural_keys: [cnpj]
  read_back:
    lookups:
      - key: {cnpj: cnpjcpf}
        operations: [registry.suppliers.list]
    existing: refused
  columns:
    cnpj: {kind: cnpj}
    codigo: {registers: fornecedor}
columns:
  nomeComercial: {dtype: str, nullable: false, required: true}
  cnpj: {dtype: str, nullable: true, no_repeats: {}}
  codigo: {dtype: Int64, nullable: true}
  ativo: {dtype: boolean, nullable: true}
"""


def test_records_inactive_in_their_own_workbook_are_reported(
    tmp_path: Path, registries: Registries
) -> None:
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "fornecedor.yaml").write_text(OWN_SUPPLIERS, encoding="utf-8")
    catalogue = load_catalogue(schemas)
    forms = linked_catalogue({"codigoDoFornecedor": "cnpj"}, catalogue)
    suppliers = write_rows(
        tmp_path / "f.xlsx",
        ["nomeComercial", "cnpj", "codigo", "ativo"],
        [["A", document(1), 90_001, True], ["B", document(2), 90_002, False]],
    )
    named = [{"codigoDoFornecedor": document(n), "historico": str(n)} for n in (1, 2)]
    linked = write_records(tmp_path / "linked.xlsx", "contaspagar", named)
    coded = [{"codigoDoFornecedor": n, "historico": str(n)} for n in (90_001, 90_002, 90_003, 501)]
    plain = write_records(tmp_path / "plain.xlsx", "contaspagar", coded)
    checks = CrossWorkbookChecks(("f", "p"), tmp_path, LinkResolver(registries))
    checks.add("f", validate_workbook(suppliers, forms, resource="fornecedor"))
    checks.add("p", validate_workbook(linked, forms, resource="contaspagar"))
    checks.add("p", validate_workbook(plain, catalogue, resource="contaspagar"))
    assert coded_findings(checks.findings()) == [
        ("linked.xlsx", "B3", "reference-inactive-in-batch"),
        ("plain.xlsx", "B3", "reference-inactive-in-batch"),
        ("plain.xlsx", "B4", "reference-unknown-in-batch"),
    ]


def test_unreadable_sheets_have_no_cross_findings(
    batch: Batch, registries: Registries, catalogue: Catalogue
) -> None:
    batch.write("receber", "r.xlsx", "contasreceber", titles(ACTIVE_OWN))
    checks = batch.cross_checks(registries)
    empty = write_rows(batch.folder / "empty.xlsx", [], [])
    strange = write_rows(batch.folder / "strange.xlsx", ["a", "b"], [[1, 2]])
    bare = write_rows(batch.folder / "bare.xlsx", ["nomeComercial", "seuCodigo"], [])
    checks.add("clientes", validate_workbook(empty, catalogue))
    checks.add("clientes", validate_workbook(strange, catalogue, resource="cliente"))
    checks.add("clientes", validate_workbook(bare, catalogue, resource="cliente"))
    assert coded_findings(checks.findings()) == []
    assert coded_findings(CrossWorkbookChecks(STEPS, batch.folder).findings()) == []


def test_findings_may_be_requested_again(batch: Batch) -> None:
    batch.write("clientes", "a.xlsx", "cliente", [client_row(1)])
    batch.write("clientes", "b.xlsx", "cliente", [client_row(1)])
    checks = batch.cross_checks()
    first = checks.findings()
    assert (
        coded_findings(checks.findings())
        == coded_findings(first)
        == [("b.xlsx", "C2", "duplicate-across-sheets")]
    )


FORMS = st.sampled_from(
    [
        lambda bare: bare,
        DOCUMENTS["cnpj"].masked,
        lambda bare: DOCUMENTS["cnpj"].masked(bare).lower(),
        lambda bare: f" {bare} ",
        lambda bare: bare.replace("A", "a"),
    ]
)
FIRMS = ["11222333000181", "12ABC34501DE35", "19131243000197", "33000167000101"]
WRITTEN = st.lists(st.tuples(st.sampled_from(FIRMS), FORMS), min_size=1, max_size=4)


@given(first=WRITTEN, second=WRITTEN, named=WRITTEN)
@settings(examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_documents_are_compared_however_they_are_written(
    catalogue: Catalogue,
    registries: Registries,
    first: list[Any],
    second: list[Any],
    named: list[Any],
) -> None:
    with TemporaryDirectory() as folder:
        batch = Batch(Path(folder), catalogue, {"codigoDoCliente": "cnpj"})
        for name, firms in (("a.xlsx", first), ("b.xlsx", second)):
            rows = [{"cnpj": form(firm)} for firm, form in firms]
            batch.write("clientes", name, "cliente", rows)
        batch.write("receber", "r.xlsx", "contasreceber", titles(*(f(firm) for firm, f in named)))
        found = batch.findings(registries)
    in_first, in_second = [firm for firm, _ in first], [firm for firm, _ in second]
    assert found == [
        *(
            ("b.xlsx", f"C{row}", "duplicate-across-sheets")
            for row, firm in enumerate(in_second, 2)
            if firm in in_first and in_second.index(firm) == row - 2
        ),
        *(
            ("r.xlsx", f"B{row}", "reference-unknown-in-batch")
            for row, (firm, _) in enumerate(named, 2)
            if firm not in {*in_first, *in_second}
        ),
    ]
