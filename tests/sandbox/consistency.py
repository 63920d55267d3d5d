"""Consistency of all tables of a sandbox: sums, order of dates, references."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

import consistency_of_sales  # noqa: F401 (its checks register themselves)
import consistency_of_stock  # noqa: F401
from consistency_checks import CHECKS, Finding, Report, Tables, check, verify
from databases import metadata
from sqlalchemy import Connection
from stdnum.br import cnpj, cpf

_REGISTRIES = {
    "codigoDaFilial": "branches", "codigoDaFilialDoRateio": "branches",
    "codigoDaFilialSecao": "branches", "codigoDaFilialCR": "branches",
    "codigoDoCliente": "clients", "codigoDoFornecedor": "suppliers",
    "transportadoraCodigo": "suppliers", "codigoDoCentroDeCusto": "cost_centres",
    "codigoDoItemDeLancamento": "categories", "codigoDaContaCorrente": "accounts",
    "codigoDaCarteira": "portfolios", "codigoDaFormaDePagamento": "payment_methods",
    "codigoDoVendedor": "sellers", "codigoDoTipoDeCliente": "client_types",
    "codigoDoProjeto": "projects", "CodigoDoProjeto": "projects", "CodigoDoCustoABC": "abc_costs",
    "idProd": "products", "idProduto": "products", "idMapeamentoPadrao": "products",
    "codigoDoServicoPrestado": "services", "codigoDaNotaFiscal": "invoice_models",
    "codigoDaCondicaoDePagamento": "payment_conditions", "codigoDoTipoDeCompra": "purchase_types",
    "codigoDoMotivo": "purchase_reasons", "codigoDoColaborador": "collaborators",
    "codigoDoColaboradorResponsavelCompras": "collaborators",
    "codigoDoColaboradorSolicitante": "collaborators",
    "codigoDoColaboradorDestino": "collaborators", "codigoDaUnidadeDeMedida": "units",
    "numeroDoPedido": "sales_orders", "idNF": "product_invoices",
    "numeroDaRequisicao": "stock_requisitions",
    "NumeroDaRequisicaoDeCompra": "purchase_requisitions",
    "NumeroDaRequisicaoDeEstoque": "stock_requisitions", "numeroDaOrdem": "buying_orders",
}  # fmt: skip
_OWN_NUMBERS = {
    ("service_invoices", "idNF"),
    ("purchase_requisitions", "numeroDaRequisicao"),
    ("sales_orders", "numeroDaOrdem"),
}
"""Columns with these names that are keys of their own table, or numbers of the customer."""


@check
def references(tables: Tables) -> Iterator[Finding]:
    known = {
        registry: {row[_key_of(registry)] for row in tables[registry]}
        for registry in set(_REGISTRIES.values())
    }
    for table, rows in tables:
        for column in metadata.tables[table].columns:
            registry = _REGISTRIES.get(column.name)
            if registry in (None, table) or (table, column.name) in _OWN_NUMBERS:
                continue
            ad_hoc = {0} if table.startswith(("purchase_requisition", "buying")) else set()
            values = {row[column.name] for row in rows} - {None} - ad_hoc
            for value in values:
                yield verify(value in known[registry], f"{table}.{column.name}", value, registry)


def _key_of(table: str) -> str:
    (key,) = metadata.tables[table].primary_key
    return key.name


@check
def warehouses(tables: Tables) -> Iterator[Finding]:
    """Warehouses are in their branch, sections in their warehouse, portfolios in their account."""
    known_warehouses = {(row["branch"], row["code"]) for row in tables["warehouses"]}
    sections = {(row["branch"], row["warehouse"], row["code"]) for row in tables["sections"]}
    for name in ("movements", "inventories", "addressings"):
        for row in tables[name]:
            key = (row["codigoDaFilial"], row["codigoDoAlmoxarifado"])
            yield verify(key in known_warehouses, name, key)
    for row in tables["addressings"]:
        key = (row["codigoDaFilialSecao"], row["codigoDoAlmoxarifadoSecao"], row["codigoDaSecao"])
        yield verify(key in sections, "addressings", key)
    accounts = {row["code"]: row["account"] for row in tables["portfolios"]}
    for name in ("sales_orders", "receivables"):
        for row in tables[name]:
            account = accounts.get(row["codigoDaCarteira"], row["codigoDaContaCorrente"])
            yield verify(account == row["codigoDaContaCorrente"], name, row["codigoDaCarteira"])


@check
def documents(tables: Tables) -> Iterator[Finding]:
    """Clients, suppliers and issuers have valid and unique documents."""
    parties = [("clients", "cnpjcpf", "natureza"), ("suppliers", "cnpjcpf", "natureza")]
    for table, document, nature in parties:
        counts = Counter(row[document] for row in tables[table] if row[document])
        for row in tables[table]:
            number = row[document]
            document_type = cnpj if row[nature] == "J" else cpf
            fits = number is None or (document_type.is_valid(number) and counts[number] == 1)
            yield verify(fits and (table == "clients" or number), table, number)
    for row in tables["issuers"]:
        yield verify(cnpj.is_valid(row["cnpj"]), "issuers", row["cnpj"])


_NUMBERED = (
    ("sales_orders", "numeroDoPedido", "dataDaOrdem", (), "sales_order"),
    ("product_invoices", "idNF", "dataDeEmissao", (), "product_invoice"),
    ("product_invoices", "numeroDaNotaFiscalEletronica", "dataDeEmissao",
     ("codigoDaFilial", "codigoDaNotaFiscal"), "nfe:{}:{}"),
    ("service_invoices", "idNF", "ultimaAtualizacao", (), "service_invoice"),
    ("service_invoices", "numeroDaNotaFiscalEletronica", "dataDeEmissao", ("codigoDaFilial",),
     "nfse:{}"),
    ("receivables", "numeroDaTransacao", "dataDeEmissao", ("codigoDoExercicio", "codigoDaFilial"),
     "receivable:{}:{}"),
    ("payables", "numeroDaTransacao", "dataDeEmissao", ("codigoDoExercicio", "codigoDaFilial"),
     "payable:{}:{}"),
    ("purchase_requisitions", "numeroDaRequisicao", "dataDaRequisicao", (),
     "purchase_requisition"),
    ("buying_orders", "numeroDaOrdem", "dataDaOrdem", (), "buying_order"),
    ("purchase_orders", "numeroPedido", "dataDoPedido", (), "purchase_order"),
    ("stock_requisitions", "number", "requested", (), None),
    ("movements", "number", "moved", ("inward",), "{}"),
    ("inventories", "idInventario", "dataDeInicio", (), "inventory"),
)  # fmt: skip
_MOVEMENT_SCOPES = {"True": "stock_entry", "False": "stock_output"}


@check
def numbers(tables: Tables) -> Iterator[Finding]:
    """Numbers have no gaps, follow the dates, and match the counters."""
    last = {row["scope"]: row["last"] for row in tables["counters"]}
    for table, number, date, group, scope in _NUMBERED:
        groups = tables.by(table, *group) if group else {(): tables[table]}
        for key, rows in groups.items():
            numbered = sorted((row[number], row[date]) for row in rows if row[number] is not None)
            for (number_before, date_before), (number_after, date_after) in pairwise(numbered):
                fits = number_after - number_before in (0, 1) and date_before <= date_after
                yield verify(fits, (table, key), number_before, date_before, number_after)
            if numbered and scope is not None:
                name = scope.format(*(key if isinstance(key, tuple) else (key,)))
                name = _MOVEMENT_SCOPES.get(name, name)
                yield verify(numbered[-1][0] == last.get(name), (table, key), name, last.get(name))


@check
def calendar(tables: Tables) -> Iterator[Finding]:
    """No past event is dated after the last day of the demo."""
    end = datetime(2026, 11, 1)
    for table, rows in tables:
        for column in metadata.tables[table].columns:
            if column.name in _HAPPENED:
                for row in rows:
                    moment = row[column.name]
                    fits = moment is None or datetime.fromisoformat(str(moment)) < end
                    yield verify(fits, f"{table}.{column.name}", moment)


_HAPPENED = frozenset(
    {
        "dataDaOrdem", "dataDeProcessamento", "dataDeCancelamento", "dataDeEmissao", "dataDeBaixa",
        "dataDaRequisicao", "dataDoPedido", "DataLiberacaoParaAprovacao", "moved", "requested",
        "ultimaAtualizacao", "updated", "dataDeInicio",
    }
)  # fmt: skip


def consistency_report(connection: Connection) -> Report:
    """Run all checks on a database."""
    tables, report = Tables(connection), Report()
    for name, function in CHECKS.items():
        for finding in function(tables):
            report.examined[name] += 1
            if finding is not None:
                report.contradictions.append(f"{name}: {finding}")
    return report
