"""Consistency of orders, invoices, titles and forecasts."""

from collections.abc import Iterator
from typing import Any

from consistency_checks import CENT, Finding, Row, Tables, check, verify

from xlbridge.resources.checks import mod11_digit


@check
def order_lines(tables: Tables) -> Iterator[Finding]:
    """The amounts of each line are calculated correctly."""
    for row in tables["sales_order_items"]:
        location = (row["numeroDoPedido"], row["seq"])
        gross = (row["quantidade"] * row["valorUnitario"]).quantize(CENT)
        yield verify(row["valorTotal"] == gross > 0, location, "valorTotal", row["valorTotal"])
        base = row["valorTotal"] + row["valorAcrescimo"] - row["valorDesconto"]
        yield verify(row["baseIPI"] == row["baseICMS"] == base, location, "base", row["baseIPI"])
        for tax in ("IPI", "ICMS", "ICMSST"):
            due = (base * row[f"aliquota{tax}"] / 100).quantize(CENT)
            yield verify(row[f"valor{tax}"] == due, location, f"valor{tax}", row[f"valor{tax}"])
        extras = sum(row[f"valor{name}"] for name in ("Frete", "Seguro", "Outros"))
        net = base + row["valorIPI"] + row["valorICMSST"] + extras
        yield verify(row["totalLiquido"] == net, location, "totalLiquido", row["totalLiquido"])
        yield verify(row["pesoBruto"] >= row["pesoLiquido"] > 0, location, "peso", row["pesoBruto"])


@check
def instalments(tables: Tables) -> Iterator[Finding]:
    """Instalments add up to the order in amount and per cent, and none is zero."""
    lines = tables.by("sales_order_items", "numeroDoPedido")
    parts = tables.by("sales_order_installments", "numeroDoPedido")
    for order in tables["sales_orders"]:
        number = order["numeroDoPedido"]
        instalments = parts[number]
        total = sum(line["totalLiquido"] for line in lines[number])
        yield verify(sum(part["valor"] for part in instalments) == total, number, "valor", total)
        yield verify(sum(part["percentual"] for part in instalments) == 100, number, "percentual")
        yield verify(
            all(part["valor"] > 0 < part["percentual"] for part in instalments), number, "zero"
        )
        yield verify(
            {part["totalDoPedido"] for part in instalments} == {total}, number, "totalDoPedido"
        )
        yield verify(
            len(instalments) == order["quantidadeDeParcelas"], number, "quantidadeDeParcelas"
        )
        days = [order["dataDaOrdem"], *(part["dataDeVencimento"] for part in instalments)]
        yield verify(days == sorted(days), number, "vencimentos")


@check
def order_states(tables: Tables) -> Iterator[Finding]:
    """An order has one state, with the dates, invoice and titles of that state."""
    parts = tables.by("sales_order_installments", "numeroDoPedido")
    for order in tables["sales_orders"]:
        number, processed = order["numeroDoPedido"], order["processado"]
        states = [order[name] for name in ("pendente", "processado", "cancelado")]
        yield verify(states.count(True) == 1, number, states)
        for flag, date in (
            ("processado", "dataDeProcessamento"),
            ("cancelado", "dataDeCancelamento"),
        ):
            ended = order[date]
            fits = order[flag] == (ended is not None) and (
                not ended or ended >= order["dataDaOrdem"]
            )
            yield verify(fits, number, date, ended)
        yield verify((order["idNF"] is not None) == processed, number, "idNF", order["idNF"])
        titles = {part["existeLancamentoCR"] for part in parts[number]}
        yield verify(titles == {processed}, number, "existeLancamentoCR", titles)


@check
def product_invoices(tables: Tables) -> Iterator[Finding]:
    """An order's invoice has the order's lines and taxes and the total of its instalments."""
    orders = {row["numeroDoPedido"]: row for row in tables["sales_orders"]}
    lines = tables.by("sales_order_items", "numeroDoPedido")
    billed = tables.by("product_invoice_items", "idNF")
    parts = tables.by("sales_order_installments", "numeroDoPedido")
    summed = ("valorAcrescimo", "valorDesconto", "valorFrete", "valorSeguro", "valorOutros",
              "valorIPI", "valorICMSST", "baseICMS", "valorICMS")  # fmt: skip
    for invoice in tables["product_invoices"]:
        location, order = invoice["idNF"], orders[invoice["numeroDoPedido"]]
        items = lines[order["numeroDoPedido"]]
        yield verify(order["idNF"] == location, location, "numeroDoPedido", order["numeroDoPedido"])
        for name in summed:
            yield verify(
                invoice[name] == sum(line[name] for line in items), location, name, invoice[name]
            )
        products = sum(line["valorTotal"] for line in billed[location])
        yield verify(
            invoice["valorDosProdutos"] == products, location, "valorDosProdutos", products
        )
        total = sum(part["valor"] for part in parts[order["numeroDoPedido"]])
        yield verify(invoice["valorTotal"] == total, location, "valorTotal", invoice["valorTotal"])
        yield verify(
            invoice["dataDeEmissao"] == order["dataDeProcessamento"], location, "dataDeEmissao"
        )
        same = ("idProduto", "quantidade", "valorUnitario", "valorTotal")
        fits = [[line[n] for n in same] for line in items] == [
            [line[n] for n in same] for line in billed[location]
        ]
        yield verify(fits, location, "produtos")


@check
def access_keys(tables: Tables) -> Iterator[Finding]:
    """An access key has the issuer, month and number of its invoice and a valid check digit."""
    issuers = {row["code"]: row for row in tables["issuers"]}
    for table, month, number in (
        ("product_invoices", slice(2, 6), slice(25, 34)),
        ("service_invoices", slice(36, 40), slice(23, 36)),
    ):
        for row in tables[table]:
            key, emitted = row["chaveDaNotaFiscalEletronica"], row["dataDeEmissao"]
            if key is None:
                yield verify(emitted is row["numeroDaNotaFiscalEletronica"] is None, table, row)
                continue
            fits = (
                key[-1] == mod11_digit(key[:-1])
                and key[month] == f"{emitted:%y%m}"
                and int(key[number]) == row["numeroDaNotaFiscalEletronica"]
                and issuers[row["codigoDaFilial"]]["cnpj"] in key
            )
            yield verify(fits, table, key, emitted)


@check
def titles(tables: Tables) -> Iterator[Finding]:
    """Titles match the instalments; parts and retained taxes add up; dates are in order."""
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
            yield verify(fits, key, part["valor"])
    yield verify(linked == len(receivables), "receivables", linked, len(receivables))
    for kind in ("receivable", "payable"):
        shares = tables.by(f"{kind}_allocations", "exercise", "branch", "number", "sequence")
        for title in tables[f"{kind}s"]:
            yield from _title_findings(title, shares[_title_key(title)])
    for title in tables["payables"]:
        retained = sum(
            title[f"Valor{tax}Retido"] for tax in ("PIS", "COFINS", "CSLL", "IR", "ISS", "INSS")
        )
        fits = title["ValorBruto"] == title["valorDoLancamento"] + retained
        yield verify(fits, _title_key(title), "ValorBruto", title["ValorBruto"])


def _title_key(title: Row) -> tuple[int, ...]:
    names = ("codigoDoExercicio", "codigoDaFilial", "numeroDaTransacao", "sequenciaDaTransacao")
    return tuple(title[name] for name in names)


def _title_findings(title: Row, shares: list[dict[str, Any]]) -> Iterator[Finding]:
    key, value = _title_key(title), title["valorDoLancamento"]
    issued, due, settled = (title[n] for n in ("dataDeEmissao", "dataDeVencimento", "dataDeBaixa"))
    yield verify(value > 0, key, "valorDoLancamento", value)
    yield verify(issued.year == key[0] and issued <= due, key, issued, due)
    yield verify(settled is None or settled >= issued, key, "dataDeBaixa", settled)
    yield verify(title["valorBaixado"] == (value if settled else None), key, "valorBaixado")
    if shares:
        yield verify(sum(share["valor"] for share in shares) == value, key, "rateio")


@check
def service_taxes(tables: Tables) -> Iterator[Finding]:
    for row in tables["service_invoices"]:
        for tax in ("IBSMunicipal", "IBSEstadual", "CBS"):
            due = (row["valorDoServico"] * row[f"Aliquota{tax}"] / 100).quantize(CENT)
            yield verify(row[f"Valor{tax}"] == due, row["idNF"], tax, row[f"Valor{tax}"])


@check
def forecasts(tables: Tables) -> Iterator[Finding]:
    for row in tables["service_forecasts"]:
        location, ended = row["codigoDaPrevisao"], row["dataDeTermino"]
        yield verify(ended is None or ended >= row["dataDeInicio"], location, ended)
        for name in ("dataDaProximaEmissao", "dataDoProximoReajuste"):
            following = row[name]
            yield verify(following is None or following > row["dataDeInicio"], location, name)
        yield verify(row["ativo"] == (ended is None), location, "ativo", ended)
