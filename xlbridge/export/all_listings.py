"""Declarations of all listings that can be exported.

Source: the spec, Endpoints. Sheets, columns and filters follow from the operations' models.
"""

from dataclasses import replace

from xlbridge.errors import find_named
from xlbridge.export.filters import Filter
from xlbridge.export.listing_model import Listing, PerRecord, PerValue
from xlbridge.export.sheets import TotalsSpec
from xlbridge.i18n import Text
from xlbridge.wire import financial, imports, purchasing, registry, sales, stock
from xlbridge.wire.registry import CLIENT_CAP

_TITLE_KEY = (
    "codigoDoExercicio",
    "codigoDaFilial",
    "numeroDaTransacao",
    "sequenciaDaTransacao",
)
_CLIENT, _SUPPLIER = "codigoDoCliente", "codigoDoFornecedor"
_OPEN_RECEIVABLES = TotalsSpec(
    amount="valorDoLancamento", due="dataDeVencimento", party=_CLIENT, is_open=True
)
_OPEN_PAYABLES = replace(_OPEN_RECEIVABLES, party=_SUPPLIER)
_SETTLED_RECEIVABLES = TotalsSpec(amount="valorBaixado", due="dataDeVencimento", party=_CLIENT)
_SETTLED_PAYABLES = replace(_SETTLED_RECEIVABLES, party=_SUPPLIER)
_ACTIVE = TotalsSpec(branch=None, kind="ativo")
_REQUISITIONS = TotalsSpec(due="dataDaRequisicao")
_PURCHASE_ORDERS = TotalsSpec(due="dataDaOrdem")
_STOCK_REQUISITIONS = replace(_REQUISITIONS, kind="liberadoParaAprovacao")
_OPEN_TITLE = (
    "numeroDoDocumento dataDeEmissao dataDeVencimento {party} {party}.nome codigoDaFilial.nome "
    "valorDoLancamento historico codigoDoCentroDeCusto.nome numeroDaTransacao "
    "sequenciaDaTransacao"
)
_SETTLED_TITLE = (
    "numeroDoDocumento dataDeEmissao dataDeVencimento dataDeBaixa {party} {party}.nome "
    "codigoDaFilial.nome valorDoLancamento valorBaixado historico numeroDaTransacao "
    "sequenciaDaTransacao"
)
_REQUISITION = (
    "numeroDaRequisicao dataDaRequisicao codigoDaFilial.nome codigoDoCentroDeCusto.nome "
    "codigoDoMotivo DescricaoDoProjeto DataLiberacaoParaAprovacao encerrada"
)
_PURCHASE_ORDER = (
    "numeroDaOrdem dataDaOrdem codigoDaFilial.nome codigoDoCentroDeCusto.nome DescricaoDoProjeto "
    "DescricaoDoColaboradorResponsavelCompras NumeroDaRequisicaoDeCompra TotalDeCotacoes "
    "DataLiberacaoParaAprovacao encerrada"
)
_TITLE_FILTERS = frozenset({Filter.BRANCH, Filter.ACCOUNT, Filter.COST_CENTRE, Filter.CATEGORY})
"""Filters that the interface lacks for titles, and that are applied here."""

_BUDGET_FILTERS = frozenset(
    {
        Filter.BRANCH,
        Filter.COST_CENTRE,
        Filter.CATEGORY,
        Filter.PROJECT,
        Filter.YEAR,
        Filter.MONTH,
    }
)
_ADDRESS = ("codigoDaFilial", "codigoDoAlmoxarifado", "codigoDaSecao", "idProd")
_BALANCE = (
    "codigoDaFilial", "codigoDoAlmoxarifado", "idProd", "numeroDeSerieLote", "codigoDoProjeto",
)  # fmt: skip
_BY_TITLE_KEY = dict(zip(("ex", "fil", "nrtrs", "seqtrs"), _TITLE_KEY, strict=True))
_BY_PURCHASE_ORDER = {"numeroPedido": "numeroPedido"}


_ORDERS = Listing(
    name="pedidos",
    title=Text(
        pt="Pedidos de venda, com parcelas e produtos",
        en="Sales orders, with instalments and products",
    ),
    operation=sales.SALES_ORDER_LIST,
    undocumented=frozenset({Filter.BRANCH}),
    key=("numeroDoPedido",),
    leading={
        "pedidos": "numeroDoPedido dataDaOrdem codigoDaFilial.nome codigoDoCliente "
        "nomeDoCliente cnpjcpf cidade uf quantidadeDeParcelas "
        "dataDeProcessamento dataDeCancelamento",
        "produtos": "numeroDoPedido seq codigoInterno descricaoDoProduto quantidade "
        "valorUnitario valorTotal valorDesconto valorIPI valorICMS totalLiquido",
    },
    totals=TotalsSpec(
        amount="valor",
        sheet="parcelas",
        due="dataDeVencimento",
        situations=("cancelado", "processado", "pendente"),
        party=_CLIENT,
    ),
)
_PRODUCTS = Listing(
    name="produtos",
    title=Text(pt="Produtos", en="Products"),
    operation=registry.PRODUCT_LIST,
    path_filters={Filter.PRODUCT: registry.PRODUCT_GET},
    key=("idProduto",),
    leading={
        "produtos": "idProduto descricaoDoProduto codigoInterno codigoDeBarras ncm marca "
        "modelo codigoDaUnidadeDeMedida codigoDoTipoDeProduto.nome "
        "valorUnitario Peso",
    },
)
_INVENTORIES = Listing(
    name="inventario",
    title=Text(pt="Inventários", en="Inventory counts"),
    operation=stock.INVENTORY_LIST,
    path_filters={Filter.ID: stock.INVENTORY_SHOW},
    local_filters=frozenset({Filter.UNFINISHED}),
    key=("idInventario",),
    leading={
        "inventario": "idInventario descricaoDoInventario descricaoDaFilial "
        "descricaoDoAlmoxarifado situacaoDoInventario dataDeInicio "
        "dataDeEncerramento encerrado inventarioContagem1 inventarioContagem2 "
        "inventarioContagem3 observacao",
    },
    totals=TotalsSpec(due="dataDeInicio", kind="situacaoDoInventario"),
)
_CLIENTS = Listing(
    name="clientes",
    title=Text(pt="Clientes", en="Clients"),
    operation=registry.CLIENT_LIST,
    key=("codigoDoCliente",),
    cap=CLIENT_CAP,
    totals=_ACTIVE,
)

_BALANCES = Listing(
    name="estoque",
    title=Text(pt="Saldos de estoque", en="Stock balances"),
    operation=stock.STOCK_BALANCES,
    path_filters={
        Filter.BRANCH: stock.STOCK_BALANCES_OF_BRANCH,
        Filter.PRODUCT: stock.STOCK_BALANCE_OF_PRODUCT,
    },
    local_filters=frozenset({Filter.WITH_BALANCE}),
    key=_BALANCE,
    totals=TotalsSpec(amount="valorTotal"),
)
_TITLES = (
    Listing(
        name="contasreceber",
        title=Text(pt="Contas a receber em aberto", en="Open receivables"),
        operation=financial.RECEIVABLE_LIST_OPEN,
        local_filters=_TITLE_FILTERS,
        key=_TITLE_KEY,
        leading={"contasreceber": _OPEN_TITLE.format(party=_CLIENT)},
        totals=_OPEN_RECEIVABLES,
    ),
    Listing(
        name="contasreceber-baixados",
        title=Text(pt="Contas a receber baixadas", en="Settled receivables"),
        operation=financial.RECEIVABLE_LIST_SETTLED,
        local_filters=_TITLE_FILTERS,
        key=_TITLE_KEY,
        leading={"contasreceber-baixados": _SETTLED_TITLE.format(party=_CLIENT)},
        totals=_SETTLED_RECEIVABLES,
        is_settled=True,
    ),
    Listing(
        name="contaspagar",
        title=Text(pt="Contas a pagar em aberto", en="Open payables"),
        operation=financial.PAYABLE_LIST_OPEN,
        local_filters=_TITLE_FILTERS | {Filter.SUPPLIER},
        details=(financial.PAYABLE_GET, _BY_TITLE_KEY),
        key=_TITLE_KEY,
        leading={"contaspagar": _OPEN_TITLE.format(party=_SUPPLIER)},
        totals=_OPEN_PAYABLES,
    ),
    Listing(
        name="contaspagar-baixados",
        title=Text(pt="Contas a pagar baixadas", en="Settled payables"),
        operation=financial.PAYABLE_LIST_SETTLED,
        local_filters=_TITLE_FILTERS | {Filter.SUPPLIER},
        details=(financial.PAYABLE_GET, _BY_TITLE_KEY),
        key=_TITLE_KEY,
        leading={"contaspagar-baixados": _SETTLED_TITLE.format(party=_SUPPLIER)},
        totals=_SETTLED_PAYABLES,
        is_settled=True,
    ),
)
_BRANCHES = PerValue(filter=Filter.BRANCH, field="codigoDaFilial", sources=(_BALANCES,))
_ACCOUNTS = PerValue(filter=Filter.ACCOUNT, field="codigoDaContaCorrente", sources=_TITLES)

_SALES = (
    _ORDERS,
    Listing(
        name="nfe",
        title=Text(
            pt="NF-e dos pedidos de venda e as gravadas por este computador, ou as dos números "
            "informados",
            en="Invoices of sales orders and those written from this computer, or those with the "
            "given numbers",
        ),
        operation=sales.PRODUCT_INVOICE_GET,
        per_record=PerRecord(
            source=_ORDERS, path={"id": "idNF"}, filter=Filter.ID, includes_known_ids=True
        ),
        key=("idNF",),
        leading={
            "nfe": "idNF numeroDaNotaFiscalEletronica dataDeEmissao numeroDoPedido "
            "codigoDaFilial.nome codigoDoCliente nomeDoCliente naturezaDaOperacao "
            "valorDosProdutos valorDesconto valorIPI valorICMS valorTotal",
        },
        totals=TotalsSpec(
            amount="valorDosProdutos", due="dataDeEmissao", party=_CLIENT, kind="tipoDeOperacao"
        ),
    ),
    Listing(
        name="nfse",
        title=Text(pt="Notas fiscais de serviço", en="Service invoices"),
        operation=sales.SERVICE_INVOICE_LIST,
        undocumented=frozenset({Filter.FROM, Filter.TO, Filter.BRANCH, Filter.CLIENT}),
        local_filters=frozenset({Filter.NOT_EMITTED}),
        key=("idNF",),
        leading={
            "nfse": "idNF numeroDaNotaFiscalEletronica dataDeEmissao codigoDaFilial.nome "
            "codigoDoCliente codigoDoCliente.nome codigoDoServicoPrestado "
            "valorDoServico aliquotaISSRetido ValorCBS ValorIBSMunicipal "
            "ValorIBSEstadual",
        },
        totals=TotalsSpec(amount="valorDoServico", due="dataDeEmissao", party=_CLIENT),
    ),
    Listing(
        name="previsoes",
        title=Text(pt="Previsões de serviço", en="Service forecasts"),
        operation=sales.SERVICE_FORECAST_LIST,
        undocumented=frozenset({Filter.BRANCH, Filter.CLIENT, Filter.ACTIVE}),
        key=("codigoDaPrevisao",),
        leading={
            "previsoes": "codigoDaPrevisao codigoDaFilial.nome codigoDoCliente "
            "codigoDoCliente.nome codigoDoServicoPrestado valorDoServico "
            "dataDeInicio dataDeTermino mesesEntreEmissoes dataDaProximaEmissao "
            "dataDoProximoReajuste ativo",
        },
        totals=TotalsSpec(
            amount="valorDoServico", due="dataDaProximaEmissao", party=_CLIENT, kind="ativo"
        ),
    ),
)
_STOCK = (
    _BALANCES,
    Listing(
        name="movimentacoes",
        title=Text(pt="Movimentações de estoque", en="Stock movements"),
        operation=stock.STOCK_MOVEMENTS_OF_PRODUCT,
        per_record=PerRecord(source=_PRODUCTS, path={"id": "idProduto"}, filter=Filter.PRODUCT),
        key=("tipoDeMovimentacao", "numeroDaMovimentacao", "seq"),
        leading={
            "movimentacoes": "dataDaMovimentacao tipoDeMovimentacao numeroDaMovimentacao documento "
            "descricaoDaFilial descricaoDoAlmoxarifado descricaoDoProduto "
            "numeroDeSerieLote quantidade valorUnitario valorTotal",
        },
        totals=TotalsSpec(
            amount="valorTotal", due="dataDaMovimentacao", kind="tipoDeMovimentacao", directed=True
        ),
    ),
    Listing(
        name="requisicoes-estoque",
        title=Text(pt="Requisições de estoque pendentes", en="Pending stock requisitions"),
        operation=stock.STOCK_REQUISITIONS_PENDING,
        per_value=_BRANCHES,
        key=("codigoDaFilial", "numeroDaRequisicao"),
        totals=_STOCK_REQUISITIONS,
    ),
    Listing(
        name="requisicoes-estoque-finalizadas",
        title=Text(pt="Requisições de estoque finalizadas", en="Completed stock requisitions"),
        operation=stock.STOCK_REQUISITIONS_SETTLED,
        per_value=_BRANCHES,
        key=("codigoDaFilial", "numeroDaRequisicao"),
        totals=_STOCK_REQUISITIONS,
    ),
    Listing(
        name="mapeamento",
        title=Text(pt="Endereçamento de produtos", en="Product locations"),
        operation=stock.ADDRESSING_MAPPING,
        key=_ADDRESS,
        leading={
            "mapeamento": "descricaoDaFilial descricaoDoAlmoxarifado descricaoDaSecao idProd "
            "codigoInterno descricaoDoProduto simboloDaUnidadeDeMedida "
            "descricaoDoTipoDeProduto ativo",
        },
        totals=TotalsSpec(kind="ativo"),
    ),
    _INVENTORIES,
    Listing(
        name="inventario-produtos",
        title=Text(pt="Produtos dos inventários", en="Products of inventory counts"),
        operation=stock.INVENTORY_ITEMS,
        per_record=PerRecord(
            source=_INVENTORIES,
            path={"idInventario": "idInventario"},
            filter=Filter.ID,
        ),
        key=("idInventario", "seq"),
    ),
)
_FINANCIAL = (
    *_TITLES,
    Listing(
        name="caixabancos",
        title=Text(pt="Extrato de caixa e bancos", en="Cash and bank statement"),
        operation=financial.CASH_STATEMENT,
        per_value=_ACCOUNTS,
        undocumented=frozenset({Filter.ACCOUNT}),
        period_field=("lancamentos", "data"),
        key=("codigoDaContaCorrente",),
        leading={
            "lancamentos": "codigoDaContaCorrente data tipo numeroDoDocumento historico "
            "codigoDoCliente.nome codigoDoFornecedor.nome codigoDaFilial.nome valor "
            "saldo",
        },
        inner_keys={"lancamentos": _TITLE_KEY},
        totals=TotalsSpec(
            amount="valor", sheet="lancamentos", due="data", kind="tipo", directed=True
        ),
    ),
)
_PURCHASING = (
    Listing(
        name="requisicoes",
        title=Text(pt="Requisições de compra abertas", en="Open purchase requisitions"),
        operation=purchasing.REQUISITION_LIST_OPEN,
        key=("numeroDaRequisicao",),
        leading={"requisicoes": _REQUISITION},
        totals=_REQUISITIONS,
    ),
    Listing(
        name="requisicoes-encerradas",
        title=Text(pt="Requisições de compra encerradas", en="Closed purchase requisitions"),
        operation=purchasing.REQUISITION_LIST_CLOSED,
        key=("numeroDaRequisicao",),
        leading={"requisicoes-encerradas": _REQUISITION},
        totals=_REQUISITIONS,
    ),
    Listing(
        name="ordens",
        title=Text(pt="Ordens de compra abertas", en="Open buying orders"),
        operation=purchasing.ORDER_LIST_OPEN,
        key=("numeroDaOrdem",),
        leading={"ordens": _PURCHASE_ORDER},
        totals=_PURCHASE_ORDERS,
    ),
    Listing(
        name="ordens-encerradas",
        title=Text(pt="Ordens de compra encerradas", en="Closed buying orders"),
        operation=purchasing.ORDER_LIST_CLOSED,
        key=("numeroDaOrdem",),
        leading={"ordens-encerradas": _PURCHASE_ORDER},
        totals=_PURCHASE_ORDERS,
    ),
    Listing(
        name="pedidos-compra",
        title=Text(pt="Pedidos de compra abertos", en="Open purchase orders"),
        operation=purchasing.PURCHASE_ORDER_LIST_OPEN,
        details=(purchasing.PURCHASE_ORDER_GET, _BY_PURCHASE_ORDER),
        key=("numeroPedido",),
        totals=TotalsSpec(amount="valorTotal", due="dataDoPedido", party=_SUPPLIER),
    ),
    Listing(
        name="pedidos-compra-encerrados",
        title=Text(pt="Pedidos de compra encerrados", en="Closed purchase orders"),
        operation=purchasing.PURCHASE_ORDER_LIST_CLOSED,
        details=(purchasing.PURCHASE_ORDER_GET, _BY_PURCHASE_ORDER),
        key=("numeroPedido",),
        totals=TotalsSpec(amount="valorTotal", due="dataDoPedido", party=_SUPPLIER),
    ),
    Listing(
        name="tipos-compra",
        title=Text(pt="Tipos de compra", en="Purchase types"),
        operation=purchasing.PURCHASE_TYPE_LIST,
        key=("codigoDoTipoDeCompra",),
        totals=_ACTIVE,
    ),
    Listing(
        name="motivos",
        title=Text(pt="Motivos de compra", en="Purchase reasons"),
        operation=purchasing.PURCHASE_REASON_LIST,
        key=("codigoDoMotivo",),
        totals=_ACTIVE,
    ),
    Listing(
        name="planejamento",
        title=Text(pt="Planejamento de compras", en="Purchase budget"),
        operation=purchasing.SPENDING_LIMIT_LIST,
        undocumented=_BUDGET_FILTERS,
        key=("idPlanejamento",),
        totals=TotalsSpec(amount="valorLimite"),
    ),
)
_UTILITIES = (
    Listing(
        name="importacao",
        title=Text(
            pt="Logs de importação: os dos envios deste computador, ou os dos números informados",
            en="Import logs: those of uploads from this computer, or those with the given numbers",
        ),
        operation=imports.IMPORT_LOG,
        per_record=PerRecord(source=None, path={"id": "id"}, filter=Filter.ID),
        key=("id",),
        totals=TotalsSpec(branch=None, due="dataDeInclusao", kind="situacao"),
    ),
)
_REGISTRY = (
    _CLIENTS,
    Listing(
        name="contatos",
        title=Text(pt="Contatos dos clientes", en="Clients' contacts"),
        operation=registry.CONTACT_GET,
        per_record=PerRecord(
            source=_CLIENTS,
            path={"codcontato": "codigoDoCliente"},
            filter=Filter.CLIENT,
            counter="seq",
        ),
        key=("codigoDoCliente", "seqContato"),
        totals=replace(_ACTIVE, party=_CLIENT),
    ),
    Listing(
        name="fornecedores",
        title=Text(pt="Fornecedores", en="Suppliers"),
        operation=registry.SUPPLIER_LIST,
        key=("codigoDoFornecedor",),
        totals=_ACTIVE,
    ),
    _PRODUCTS,
    Listing(
        name="tipos-produto",
        title=Text(pt="Tipos de produto", en="Product types"),
        operation=registry.PRODUCT_TYPE_LIST,
        key=("codigoDoTipoDeProduto",),
    ),
    Listing(
        name="categorias-cliente",
        title=Text(pt="Categorias de cliente", en="Client categories"),
        operation=registry.CLIENT_CATEGORY_LIST,
        key=("codigoDaCategoriaDeCliente",),
    ),
    Listing(
        name="tipos-cliente",
        title=Text(pt="Tipos de cliente", en="Client types"),
        operation=registry.CLIENT_TYPE_LIST,
        key=("codigoDoTipoDeCliente",),
    ),
    Listing(
        name="centros-custo",
        title=Text(pt="Centros de custo", en="Cost centres"),
        operation=registry.COST_CENTRE_LIST,
        key=("codigoDoCentroDeCusto",),
    ),
)

LISTINGS: dict[str, Listing] = {
    listing.name: listing
    for listing in (*_SALES, *_STOCK, *_FINANCIAL, *_PURCHASING, *_REGISTRY, *_UTILITIES)
}
"""Every listing, by its name."""


def find_listing(name: str) -> Listing:
    """Return the listing of a name, whose spelling is matched as leniently as a resource's.

    Raises ``UsageError`` if there is none.
    """
    message = Text(pt="Não existe a listagem {name!r}.", en="There is no listing {name!r}.")
    return find_named(name, LISTINGS, message)
