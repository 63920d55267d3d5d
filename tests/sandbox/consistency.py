"""Report whether all tables of a sandbox fit one another: sums, orders of dates, references."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, select
from stdnum.br import cnpj, cpf

from xlbridge.resources.checks import access_key_digit
from xlbridge.sandbox.tables import metadata

Row = Mapping[str, Any]
Finding = str | None
"""What contradicts, None for one record that was looked at and fits."""

CENT = Decimal("0.01")
ZERO = Decimal(0)


class Tables:
    """All tables of one database, each read once."""

    def __init__(self, connection: Connection) -> None:
        self._rows = {
            table.name: [
                dict(row)
                for row in connection.execute(select(table).order_by(*table.primary_key)).mappings()
            ]
            for table in metadata.sorted_tables
        }

    def __getitem__(self, name: str) -> list[dict[str, Any]]:
        return self._rows[name]

    def __iter__(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        return iter(self._rows.items())

    def by(self, name: str, *key: str) -> dict[Any, list[dict[str, Any]]]:
        """Group a table's rows by some of its columns."""
        grouped: defaultdict[Any, list[dict[str, Any]]] = defaultdict(list)
        for row in self[name]:
            values = tuple(row[column] for column in key)
            grouped[values if len(values) > 1 else values[0]].append(row)
        return grouped


@dataclass(slots=True)
class Report:
    """How many records each check looked at, and what contradicts."""

    examined: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)


_CHECKS: dict[str, Callable[[Tables], Iterator[Finding]]] = {}


def check(function: Callable[[Tables], Iterator[Finding]]) -> Callable[[Tables], Iterator[Finding]]:
    """Register a check: it yields None for each record that fits, a text for one that does not."""
    _CHECKS[function.__name__] = function
    return function


def consistency_report(connection: Connection) -> Report:
    """Run every check over a database."""
    tables, report = Tables(connection), Report()
    for name, function in _CHECKS.items():
        for finding in function(tables):
            report.examined[name] += 1
            if finding is not None:
                report.contradictions.append(f"{name}: {finding}")
    return report


def told(fits: bool, where: object, *values: object) -> Finding:
    """Return the finding of one record."""
    return None if fits else f"{where}: {', '.join(map(str, values))}"


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
"""Columns of one of those names that number their own records, or are the customer's."""


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
                yield told(value in known[registry], f"{table}.{column.name}", value, registry)


def _key_of(table: str) -> str:
    (key,) = metadata.tables[table].primary_key
    return key.name


@check
def places(tables: Tables) -> Iterator[Finding]:
    """A warehouse is its branch's, a section its warehouse's, a portfolio its account's."""
    warehouses = {(row["branch"], row["code"]) for row in tables["warehouses"]}
    sections = {(row["branch"], row["warehouse"], row["code"]) for row in tables["sections"]}
    for name in ("movements", "inventories", "addressings"):
        for row in tables[name]:
            place = (row["codigoDaFilial"], row["codigoDoAlmoxarifado"])
            yield told(place in warehouses, name, place)
    for row in tables["addressings"]:
        place = (row["codigoDaFilialSecao"], row["codigoDoAlmoxarifadoSecao"], row["codigoDaSecao"])
        yield told(place in sections, "addressings", place)
    accounts = {row["code"]: row["account"] for row in tables["portfolios"]}
    for name in ("sales_orders", "receivables"):
        for row in tables[name]:
            account = accounts.get(row["codigoDaCarteira"], row["codigoDaContaCorrente"])
            yield told(account == row["codigoDaContaCorrente"], name, row["codigoDaCarteira"])


@check
def documents(tables: Tables) -> Iterator[Finding]:
    """Clients, suppliers and issuers have valid documents, and none has another's."""
    parties = [("clients", "cnpjcpf", "natureza"), ("suppliers", "document", "nature")]
    for table, document, nature in parties:
        given = Counter(row[document] for row in tables[table] if row[document])
        for row in tables[table]:
            number = row[document]
            judge = cnpj if row[nature] == "J" else cpf
            fits = number is None or (judge.is_valid(number) and given[number] == 1)
            yield told(fits and (table == "clients" or number), table, number)
    for row in tables["issuers"]:
        yield told(cnpj.is_valid(row["cnpj"]), "issuers", row["cnpj"])


@check
def order_lines(tables: Tables) -> Iterator[Finding]:
    """Each line's figures follow from one another."""
    for row in tables["sales_order_items"]:
        where = (row["numeroDoPedido"], row["seq"])
        gross = (row["quantidade"] * row["valorUnitario"]).quantize(CENT)
        yield told(row["valorTotal"] == gross > 0, where, "valorTotal", row["valorTotal"])
        base = row["valorTotal"] + row["valorAcrescimo"] - row["valorDesconto"]
        yield told(row["baseIPI"] == row["baseICMS"] == base, where, "base", row["baseIPI"])
        for tax in ("IPI", "ICMS", "ICMSST"):
            due = (base * row[f"aliquota{tax}"] / 100).quantize(CENT)
            yield told(row[f"valor{tax}"] == due, where, f"valor{tax}", row[f"valor{tax}"])
        extras = sum(row[f"valor{name}"] for name in ("Frete", "Seguro", "Outros"))
        net = base + row["valorIPI"] + row["valorICMSST"] + extras
        yield told(row["totalLiquido"] == net, where, "totalLiquido", row["totalLiquido"])
        yield told(row["pesoBruto"] >= row["pesoLiquido"] > 0, where, "peso", row["pesoBruto"])


@check
def instalments(tables: Tables) -> Iterator[Finding]:
    """Instalments add up to the order's lines, in amount and per cent, and none is of nothing."""
    lines = tables.by("sales_order_items", "numeroDoPedido")
    parts = tables.by("sales_order_installments", "numeroDoPedido")
    for order in tables["sales_orders"]:
        number = order["numeroDoPedido"]
        own = parts[number]
        total = sum(line["totalLiquido"] for line in lines[number])
        yield told(sum(part["valor"] for part in own) == total, number, "valor", total)
        yield told(sum(part["percentual"] for part in own) == 100, number, "percentual")
        yield told(all(part["valor"] > 0 < part["percentual"] for part in own), number, "zero")
        yield told({part["totalDoPedido"] for part in own} == {total}, number, "totalDoPedido")
        yield told(len(own) == order["quantidadeDeParcelas"], number, "quantidadeDeParcelas")
        days = [order["dataDaOrdem"], *(part["dataDeVencimento"] for part in own)]
        yield told(days == sorted(days), number, "vencimentos")


@check
def order_states(tables: Tables) -> Iterator[Finding]:
    """An order has one state; its dates, invoice and titles are those of that state."""
    parts = tables.by("sales_order_installments", "numeroDoPedido")
    for order in tables["sales_orders"]:
        number, processed = order["numeroDoPedido"], order["processado"]
        states = [order[name] for name in ("pendente", "processado", "cancelado")]
        yield told(states.count(True) == 1, number, states)
        for flag, date in (
            ("processado", "dataDeProcessamento"),
            ("cancelado", "dataDeCancelamento"),
        ):
            ended = order[date]
            fits = order[flag] == (ended is not None) and (
                not ended or ended >= order["dataDaOrdem"]
            )
            yield told(fits, number, date, ended)
        yield told((order["idNF"] is not None) == processed, number, "idNF", order["idNF"])
        titles = {part["existeLancamentoCR"] for part in parts[number]}
        yield told(titles == {processed}, number, "existeLancamentoCR", titles)


@check
def product_invoices(tables: Tables) -> Iterator[Finding]:
    """An order's invoice has its lines, its taxes, and the total of its instalments."""
    orders = {row["numeroDoPedido"]: row for row in tables["sales_orders"]}
    lines = tables.by("sales_order_items", "numeroDoPedido")
    billed = tables.by("product_invoice_items", "idNF")
    parts = tables.by("sales_order_installments", "numeroDoPedido")
    summed = ("valorAcrescimo", "valorDesconto", "valorFrete", "valorSeguro", "valorOutros",
              "valorIPI", "valorICMSST", "baseICMS", "valorICMS")  # fmt: skip
    for invoice in tables["product_invoices"]:
        where, order = invoice["idNF"], orders[invoice["numeroDoPedido"]]
        own = lines[order["numeroDoPedido"]]
        yield told(order["idNF"] == where, where, "numeroDoPedido", order["numeroDoPedido"])
        for name in summed:
            yield told(invoice[name] == sum(line[name] for line in own), where, name, invoice[name])
        products = sum(line["valorTotal"] for line in billed[where])
        yield told(invoice["valorDosProdutos"] == products, where, "valorDosProdutos", products)
        total = sum(part["valor"] for part in parts[order["numeroDoPedido"]])
        yield told(invoice["valorTotal"] == total, where, "valorTotal", invoice["valorTotal"])
        yield told(invoice["dataDeEmissao"] == order["dataDeProcessamento"], where, "dataDeEmissao")
        same = ("idProduto", "quantidade", "valorUnitario", "valorTotal")
        fits = [[line[n] for n in same] for line in own] == [
            [line[n] for n in same] for line in billed[where]
        ]
        yield told(fits, where, "produtos")


@check
def access_keys(tables: Tables) -> Iterator[Finding]:
    """A key says issuer, month and number of its invoice, and its last digit checks the others."""
    issuers = {row["code"]: row for row in tables["issuers"]}
    for table, month, number in (
        ("product_invoices", slice(2, 6), slice(25, 34)),
        ("service_invoices", slice(36, 40), slice(23, 36)),
    ):
        for row in tables[table]:
            key, emitted = row["chaveDaNotaFiscalEletronica"], row["dataDeEmissao"]
            if key is None:
                yield told(emitted is row["numeroDaNotaFiscalEletronica"] is None, table, row)
                continue
            fits = (
                key[-1] == access_key_digit(key[:-1])
                and key[month] == f"{emitted:%y%m}"
                and int(key[number]) == row["numeroDaNotaFiscalEletronica"]
                and issuers[row["codigoDaFilial"]]["cnpj"] in key
            )
            yield told(fits, table, key, emitted)


@check
def titles(tables: Tables) -> Iterator[Finding]:
    """Titles are those of the instalments; parts and retained taxes add up; dates are in order."""
    receivables = {_title_key(row): row for row in tables["receivables"]}
    linked = 0
    for part in tables["sales_order_installments"]:
        if part["existeLancamentoCR"]:
            linked += 1
            key = (part["codigoDoExercicioCR"], part["codigoDaFilialCR"])
            key += (part["numeroDaMovimentacaoCR"], part["sequenciaDaMovimentacaoCR"])
            title = receivables[key]
            fits = (title["valorDoLancamento"], title["dataDeVencimento"]) == (
                part["valor"], part["dataDeVencimento"],
            )  # fmt: skip
            yield told(fits, key, part["valor"])
    yield told(linked == len(receivables), "receivables", linked, len(receivables))
    for kind in ("receivable", "payable"):
        shares = tables.by(f"{kind}_allocations", "exercise", "branch", "number", "sequence")
        for title in tables[f"{kind}s"]:
            yield from _title_findings(title, shares[_title_key(title)])
    for title in tables["payables"]:
        retained = sum(
            title[f"Valor{tax}Retido"] for tax in ("PIS", "COFINS", "CSLL", "IR", "ISS", "INSS")
        )
        fits = title["ValorBruto"] == title["valorDoLancamento"] + retained
        yield told(fits, _title_key(title), "ValorBruto", title["ValorBruto"])


def _title_key(title: Row) -> tuple[int, ...]:
    names = ("codigoDoExercicio", "codigoDaFilial", "numeroDaTransacao", "sequenciaDaTransacao")
    return tuple(title[name] for name in names)


def _title_findings(title: Row, shares: list[dict[str, Any]]) -> Iterator[Finding]:
    key, value = _title_key(title), title["valorDoLancamento"]
    issued, due, settled = (title[n] for n in ("dataDeEmissao", "dataDeVencimento", "dataDeBaixa"))
    yield told(value > 0, key, "valorDoLancamento", value)
    yield told(issued.year == key[0] and issued <= due, key, issued, due)
    yield told(settled is None or settled >= issued, key, "dataDeBaixa", settled)
    yield told(title["valorBaixado"] == (value if settled else None), key, "valorBaixado")
    if shares:
        yield told(sum(share["valor"] for share in shares) == value, key, "rateio")


@check
def service_taxes(tables: Tables) -> Iterator[Finding]:
    for row in tables["service_invoices"]:
        for tax in ("IBSMunicipal", "IBSEstadual", "CBS"):
            due = (row["valorDoServico"] * row[f"Aliquota{tax}"] / 100).quantize(CENT)
            yield told(row[f"Valor{tax}"] == due, row["idNF"], tax, row[f"Valor{tax}"])


@check
def forecasts(tables: Tables) -> Iterator[Finding]:
    for row in tables["service_forecasts"]:
        where, ended = row["codigoDaPrevisao"], row["dataDeTermino"]
        yield told(ended is None or ended >= row["dataDeInicio"], where, ended)
        for name in ("dataDaProximaEmissao", "dataDoProximoReajuste"):
            following = row[name]
            yield told(following is None or following > row["dataDeInicio"], where, name)
        yield told(row["ativo"] == (ended is None), where, "ativo", ended)


@check
def purchases(tables: Tables) -> Iterator[Finding]:
    """A document takes what the one before it asked for, later, and is approved for just that."""
    chain = (
        ("purchase_requisitions", "numeroDaRequisicao", "purchase_requisition_items",
         "buying_orders", "numeroDaOrdem", "buying_order_items", "NumeroDaRequisicaoDeCompra",
         "dataDaRequisicao", "dataDaOrdem"),
        ("buying_orders", "numeroDaOrdem", "buying_order_items", "purchase_orders", "numeroPedido",
         "purchase_order_items", "numeroDaOrdem", "dataDaOrdem", "dataDoPedido"),
    )  # fmt: skip
    for origins, key, origin_items, made, own, items, named, before, after in chain:
        headers = {row[key]: row for row in tables[origins]}
        asked, taken = tables.by(origin_items, "number"), tables.by(items, "number")
        following = {int(row[named]): row for row in tables[made] if row[named] is not None}
        yield told(len(following) == len(tables[made]), made, "each names another origin")
        for number, header in headers.items():
            later = following.get(number)
            where = (origins, number)
            yield told(header["encerrada"] == (later is not None), where, "encerrada")
            approved = [item["quantidadeAprovada"] for item in asked[number]]
            wanted = (
                {item["idProduto"]: item["quantidade"] for item in taken[later[own]]}
                if later
                else {}
            )
            expected = [wanted.get(item["idProduto"], ZERO) for item in asked[number]]
            yield told(approved == expected, where, "quantidadeAprovada", approved)
            yield told(later is None or header[before] <= later[after], where, after)


@check
def purchase_lines(tables: Tables) -> Iterator[Finding]:
    for row in tables["purchase_order_items"]:
        total = (row["quantidade"] * row["valorUnitario"]).quantize(CENT)
        yield told(row["valorTotal"] == total > 0, row["number"], "valorTotal", row["valorTotal"])
    for table, date in (
        ("purchase_requisitions", "dataDaRequisicao"),
        ("buying_orders", "dataDaOrdem"),
        ("purchase_orders", "dataDoPedido"),
    ):
        for row in tables[table]:
            released = row["DataLiberacaoParaAprovacao"]
            yield told(released is None or released >= row[date], table, date, released)


@check
def stock(tables: Tables) -> Iterator[Finding]:
    """No balance is ever below zero, and an empty one is worth nothing."""
    held: defaultdict[Any, list[Decimal]] = defaultdict(lambda: [ZERO, ZERO])
    names = ("codigoDaFilial", "codigoDoAlmoxarifado", "idProd", "numeroDeSerie", "codigoDoProjeto")
    for row in sorted(tables["movements"], key=lambda row: (row["moved"], row["id"])):
        key = tuple(row[name] for name in names)
        sign = 1 if row["inward"] else -1
        balance = held[key]
        balance[0] += sign * row["quantidade"]
        balance[1] += sign * row["valorTotal"]
        fits = balance[0] >= 0 <= balance[1] and (balance[0] > 0 or balance[1] == 0)
        yield told(fits, key, row["moved"], *balance)
    for item in tables["inventory_items"]:
        inventory = next(r for r in tables["inventories"] if r["idInventario"] == item["inventory"])
        place = (inventory["codigoDaFilial"], inventory["codigoDoAlmoxarifado"], item["product"])
        balance = held[(*place, item["serial"], item["project"])]
        yield told(item["balance"] == balance[0], ("inventory", *place), item["balance"], *balance)


@check
def stock_requisitions(tables: Tables) -> Iterator[Finding]:
    """An item is settled after it was asked for, from its branch, and never beyond its quantity."""
    headers = {row["number"]: row for row in tables["stock_requisitions"]}
    items = {(row["requisition"], row["seq"]): row for row in tables["stock_requisition_items"]}
    settled: Counter[Any] = Counter()
    for row in tables["movements"]:
        number = row["numeroDaRequisicao"]
        if number is not None:
            header, item = headers[number], items[(number, row["seqRequisicao"])]
            fits = (row["codigoDaFilial"], row["idProd"]) == (header["branch"], item["product"])
            yield told(fits and row["moved"] >= header["requested"], number, row["moved"])
            settled[(number, row["seqRequisicao"])] += row["quantidade"]
    for key, item in items.items():
        yield told(settled[key] <= item["quantity"], key, settled[key])


@check
def open_inventories(tables: Tables) -> Iterator[Finding]:
    for place, rows in tables.by("inventories", "codigoDaFilial", "codigoDoAlmoxarifado").items():
        going_on = [row for row in rows if row["situation"] not in ("Processado", "Encerrado")]
        yield told(len(going_on) <= 1, place, len(going_on))


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
    """Numbers have no gap, follow the dates, and the next one comes after the last."""
    last = {row["scope"]: row["last"] for row in tables["counters"]}
    for table, number, date, group, scope in _NUMBERED:
        groups = tables.by(table, *group) if group else {(): tables[table]}
        for key, rows in groups.items():
            numbered = sorted((row[number], row[date]) for row in rows if row[number] is not None)
            for (one, earlier), (other, later) in pairwise(numbered):
                fits = other - one in (0, 1) and earlier <= later
                yield told(fits, (table, key), one, earlier, other, later)
            if numbered and scope is not None:
                name = scope.format(*(key if isinstance(key, tuple) else (key,)))
                name = _MOVEMENT_SCOPES.get(name, name)
                yield told(numbered[-1][0] == last.get(name), (table, key), name, last.get(name))


@check
def calendar(tables: Tables) -> Iterator[Finding]:
    """Nothing that has happened is dated after the demo's last day."""
    end = datetime(2026, 11, 1)
    for table, rows in tables:
        for column in metadata.tables[table].columns:
            if column.name in _HAPPENED:
                for row in rows:
                    moment = row[column.name]
                    fits = moment is None or datetime.fromisoformat(str(moment)) < end
                    yield told(fits, f"{table}.{column.name}", moment)


_HAPPENED = frozenset(
    {
        "dataDaOrdem", "dataDeProcessamento", "dataDeCancelamento", "dataDeEmissao", "dataDeBaixa",
        "dataDaRequisicao", "dataDoPedido", "DataLiberacaoParaAprovacao", "moved", "requested",
        "ultimaAtualizacao", "updated", "dataDeInicio",
    }
)  # fmt: skip
