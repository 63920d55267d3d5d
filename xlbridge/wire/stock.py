"""Stock: balances, movements, requisitions, product addresses, inventories: models and operations.

Source: the spec, Stock ("any" of the inventory), Stock output, Stock entry, Stock balance row,
Stock requisition, Product addressing, Inventory header, States. What it does not show (the response
to an entry, the history, the items of a requisition, the subpaths of the cycle of an inventory, the
shape of counts) is this project's choice (``docs/assumptions.md``).
"""

from enum import StrEnum
from uuid import UUID

from pydantic import Field

from xlbridge.wire.model import (
    AddressingPlace,
    Many,
    Moment,
    Number,
    Operation,
    WireModel,
    empty_list,
)


class StockBalance(WireModel):
    """Balance of one product in one warehouse; products without balance are listed too.

    The consolidated balance of a product has no branch or warehouse.
    """

    codigoDaFilial: int | None = None
    descricaoDaFilial: str | None = None
    codigoDoAlmoxarifado: int | None = None
    descricaoDoAlmoxarifado: str | None = None
    idProd: int | None = None
    descricaoDoProduto: str | None = None
    numeroDeSerieLote: str | None = None
    codigoDoProjeto: int | None = None
    descricaoDoProjeto: str | None = None
    quantidadeTotal: Number | None = None
    valorTotal: Number | None = None


class StockOutputTerms(WireModel):
    """Content of a stock output."""

    codigoDaFilial: int | None = None
    quantidade: Number | None = None
    codigoDoAlmoxarifado: int | None = None
    codigoDaSecao: str | None = None
    codigoDoLocal: str | None = None
    codigoDoCentroDeCusto: str | None = None
    codigoDoProjeto: int | None = None
    idProd: int | None = None
    numeroDeSerie: str | None = None
    codigoDaUnidadeDeMedida: int | None = None
    observacao: str | None = None
    documento: str | None = None
    codigoDaClassificacaoAuxiliar: int | None = None
    numeroDaRequisicao: int | None = None
    seqRequisicao: int | None = None
    codigoDoColaboradorSolicitante: int | None = None
    codigoDoColaboradorDestino: int | None = None


class StockOutputInput(StockOutputTerms):
    """A stock output to record."""

    codigoDaFilial: int = Field(gt=0)
    quantidade: Number = Field(gt=0)


class StockOutputChange(StockOutputInput):
    """Changes to an output; omitted optional fields stay unchanged.

    ``estorno`` reverses the whole output, definitively.
    """

    numeroDaSaida: int
    estorno: bool = False
    descricaoDoEstorno: str | None = None


class StockOutput(StockOutputTerms):
    """A recorded output, valued at the average cost of the balance that it was taken from."""

    numeroDaSaida: int | None = None
    seq: int | None = None
    descricaoDaFilial: str | None = None
    descricaoDoAlmoxarifado: str | None = None
    descricaoDaSecao: str | None = None
    codigoInterno: str | None = None
    descricaoDoProduto: str | None = None
    marca: str | None = None
    modelo: str | None = None
    simboloDaUnidadeDeMedida: str | None = None
    dataDaSaida: Moment | None = None
    valorUnitario: Number | None = None
    valorTotal: Number | None = None
    descricaoDoColaboradorSolicitante: str | None = None
    descricaoDoColaboradorDestino: str | None = None
    estorno: bool | None = None
    quantidadeEstornada: Number | None = None
    descricaoDoEstorno: str | None = None
    ajuste: bool | None = None
    transferencia: bool | None = None
    ultimaMovimentacao: bool | None = None
    ultimaAtualizacao: str | None = None


class StockEntryTerms(WireModel):
    """Content of a stock entry."""

    codigoDaFilial: int | None = None
    dataDaEntrada: Moment | None = None
    quantidade: Number | None = None
    idProd: int | None = None
    codigoDoAlmoxarifado: int | None = None
    codigoDoProjeto: int | None = None
    numeroDeSerie: str | None = None
    valorUnitario: Number | None = None
    documento: str | None = None
    observacao: str | None = None


class StockEntryInput(StockEntryTerms):
    """A stock entry to record.

    Beyond the four fields of the spec: the destination, and the unit cost (by default the average
    cost of the balance there).
    """

    codigoDaFilial: int = Field(gt=0)
    dataDaEntrada: Moment
    quantidade: Number = Field(gt=0)
    valorUnitario: Number | None = Field(default=None, ge=0)


class StockEntry(StockEntryTerms):
    """A recorded entry."""

    numeroDaEntrada: int | None = None
    seq: int | None = None
    descricaoDaFilial: str | None = None
    descricaoDoAlmoxarifado: str | None = None
    codigoInterno: str | None = None
    descricaoDoProduto: str | None = None
    simboloDaUnidadeDeMedida: str | None = None
    valorTotal: Number | None = None
    estorno: bool | None = None
    ajuste: bool | None = None
    transferencia: bool | None = None
    ultimaMovimentacao: bool | None = None
    ultimaAtualizacao: str | None = None


class StockMovement(WireModel):
    """One entry or output in the history of a product, oldest first.

    ``tipoDeMovimentacao`` is ``Entrada`` or ``Saída``, ``numeroDaMovimentacao`` the number of the
    entry or output. A reversal is an entry with ``numeroDaSaidaEstornada``.
    """

    tipoDeMovimentacao: str | None = None
    numeroDaMovimentacao: int | None = None
    seq: int | None = None
    dataDaMovimentacao: Moment | None = None
    codigoDaFilial: int | None = None
    descricaoDaFilial: str | None = None
    codigoDoAlmoxarifado: int | None = None
    descricaoDoAlmoxarifado: str | None = None
    idProd: int | None = None
    descricaoDoProduto: str | None = None
    numeroDeSerieLote: str | None = None
    codigoDoProjeto: int | None = None
    quantidade: Number | None = None
    valorUnitario: Number | None = None
    valorTotal: Number | None = None
    documento: str | None = None
    observacao: str | None = None
    ajuste: bool | None = None
    transferencia: bool | None = None
    estorno: bool | None = None
    numeroDaSaidaEstornada: int | None = None


class StockRequisitionItem(WireModel):
    """Requested product and quantity, and how much of it outputs have settled."""

    seq: int | None = None
    idProd: int | None = None
    descricaoDoProduto: str | None = None
    quantidade: Number | None = None
    quantidadeAtendida: Number | None = None
    quantidadePendente: Number | None = None


class StockRequisition(WireModel):
    """A requisition of goods from stock, pending until outputs have settled all of it."""

    numeroDaRequisicao: int | None = None
    dataDaRequisicao: Moment | None = None
    codigoDaFilial: int | None = None
    codigoDoCentroDeCusto: str | None = None
    pendente: bool | None = None
    liberadoParaAprovacao: bool | None = None
    itens: Many[StockRequisitionItem] = Field(default_factory=empty_list)


class StockRequisitionQuery(WireModel):
    """Filters of the requisition listings; ``qtde`` 0 means unlimited."""

    filial: int
    qtde: int = Field(default=0, ge=0)


class AddressingKey(AddressingPlace):
    """Key of a product address."""

    codigoDaFilial: int
    codigoDoAlmoxarifado: int
    codigoDaSecao: str
    idProd: int


class AddressingInput(AddressingKey):
    """A product's address in a warehouse, in a request or an import sheet."""

    codigoDaFilialSecao: int | None = None
    codigoDoAlmoxarifadoSecao: int | None = None
    ativo: bool = True


class Addressing(AddressingPlace):
    """A product's address in responses, with descriptions."""

    codigoDaFilialSecao: int | None = None
    codigoDoAlmoxarifadoSecao: int | None = None
    ativo: bool | None = None
    codigoDoTipoDeProduto: int | None = None
    codigoDaCategoriaDeProduto: int | None = None
    descricaoDaFilial: str | None = None
    descricaoDoAlmoxarifado: str | None = None
    descricaoDaSecao: str | None = None
    codigoInterno: str | None = None
    descricaoDoProduto: str | None = None
    simboloDaUnidadeDeMedida: str | None = None
    descricaoDoTipoDeProduto: str | None = None
    codigoDoGrupoDeProduto: str | None = None
    descricaoDoGrupoDeProduto: str | None = None
    descricaoDaCategoriaDeProduto: str | None = None
    ultimaAtualizacao: str | None = None
    aviso: str | None = None
    podeAtivar: bool | None = None
    podeDesativar: bool | None = None


STOCK_OUTPUT_CREATE = Operation.creation(
    "stock.outputs.create", "/v2/estoque/saida", StockOutputInput, StockOutput
)
STOCK_OUTPUT_CHANGE = Operation(
    name="stock.outputs.change",
    method="PUT",
    path="/v2/estoque/saida",
    body=StockOutputChange,
    data=StockOutput,
)
STOCK_ENTRY_CREATE = Operation.creation(
    "stock.entries.create", "/v2/estoque/entrada", StockEntryInput, StockEntry
)
STOCK_BALANCES = Operation.listing("stock.balances.list", "/v2/estoque", StockBalance)
STOCK_BALANCE_OF_PRODUCT = Operation.reading(
    "stock.balances.of_product", "/v2/estoque/produto/{id}", StockBalance
)
STOCK_BALANCES_OF_BRANCH = Operation.listing(
    "stock.balances.of_branch", "/v2/estoque/filial/{id}", StockBalance
)
STOCK_MOVEMENTS_OF_PRODUCT = Operation.listing(
    "stock.movements.of_product", "/v2/estoque/movimentacoes/produto/{id}", StockMovement
)
STOCK_REQUISITIONS_PENDING = Operation.listing(
    "stock.requisitions.list_pending",
    "/v2/estoque/requisicao/pendentes",
    StockRequisition,
    StockRequisitionQuery,
)
STOCK_REQUISITIONS_SETTLED = Operation.listing(
    "stock.requisitions.list_settled",
    "/v2/estoque/requisicao/finalizadas",
    StockRequisition,
    StockRequisitionQuery,
)
ADDRESSING_MAPPING = Operation.listing(
    "stock.addressings.mapping", "/v2/estoque/produto/mapeamento", Addressing
)
ADDRESSING_LIST = Operation.listing(
    "stock.addressings.list", "/v2/estoque/enderecamento", Addressing
)
ADDRESSING_CREATE = Operation(
    name="stock.addressings.create",
    method="POST",
    path="/v2/estoque/enderecamento",
    body=AddressingInput,
    data=Addressing,
    repeatable=True,
)
ADDRESSING_ACTIVATE = Operation(
    name="stock.addressings.activate",
    method="PUT",
    path="/v2/estoque/enderecamento/ativar",
    body=AddressingKey,
    data=Addressing,
)
ADDRESSING_DEACTIVATE = Operation(
    name="stock.addressings.deactivate",
    method="PUT",
    path="/v2/estoque/enderecamento/desativar",
    body=AddressingKey,
    data=Addressing,
)


class InventorySituation(StrEnum):
    """State of an inventory in its cycle."""

    OPEN = "Aberto"
    COUNTING = "Em contagem"
    VALIDATED = "Validado"
    PROCESSED = "Processado"
    CLOSED = "Encerrado"


class InventoryTerms(WireModel):
    """Warehouse of an inventory, and remarks about it."""

    codigoDaFilial: int | None = None
    codigoDoAlmoxarifado: int | None = None
    codigoDoCentroDeCusto: str | None = None
    descricaoDoInventario: str | None = None
    observacao: str | None = None
    carregarBaseDeProdutos: bool | None = None


class InventoryInput(InventoryTerms):
    """An inventory of a warehouse to open.

    With ``carregarBaseDeProdutos`` every product with a balance there must be counted; otherwise
    only counted products are adjusted.
    """

    codigoDaFilial: int = Field(gt=0)
    codigoDoAlmoxarifado: int = Field(gt=0)
    carregarBaseDeProdutos: bool = False


class CountedProduct(WireModel):
    """Counted quantity of one product."""

    idProd: int
    numeroDeSerieLote: str | None = None
    codigoDoProjeto: int | None = None
    quantidade: Number = Field(ge=0)


class CountedLine(CountedProduct):
    """A counted quantity in a sheet, with the number of its count."""

    contagem: int = Field(ge=1, le=3)


class CountedInventory(InventoryInput):
    """An inventory in a sheet: it is opened first, then its counts are registered."""

    contagens: list[CountedLine] = Field(default_factory=empty_list)


class InventoryChange(WireModel):
    """New content of the editable fields of an inventory; omitted fields are cleared."""

    idInventario: int
    codigoDoCentroDeCusto: str | None = None
    descricaoDoInventario: str | None = None
    observacao: str | None = None


class Inventory(InventoryTerms):
    """Header of an inventory.

    ``inventarioContagem1`` … ``3`` mark the counts started, the ``pode…`` flags what is allowed
    now.
    """

    idInventario: int | None = None
    descricaoDaFilial: str | None = None
    descricaoDoAlmoxarifado: str | None = None
    descricaoDoCentroDeCusto: str | None = None
    situacaoDoInventario: str | None = None
    inventarioContagem1: bool | None = None
    inventarioContagem2: bool | None = None
    inventarioContagem3: bool | None = None
    emProcessamento: bool | None = None
    podeEditar: bool | None = None
    podeAtualizarSaldos: bool | None = None
    podeIniciarContagem1: bool | None = None
    podeIniciarContagem2: bool | None = None
    podeIniciarContagem3: bool | None = None
    podeProcessar: bool | None = None
    podeEncerrar: bool | None = None
    encerrado: bool | None = None
    dataDeInicio: Moment | None = None
    dataDeEncerramento: Moment | None = None
    idProcessamento: UUID | None = None
    logProcessamento: str | None = None
    ultimaAtualizacao: str | None = None


class InventoryCount(WireModel):
    """Quantities of the current count; counting a product again corrects it."""

    itens: list[CountedProduct] = Field(min_length=1)


class InventoryItem(WireModel):
    """One product of an inventory.

    ``diferenca`` is the last counted quantity less ``saldo``, the balance when the product was
    added to the inventory or when balances were last refreshed.
    """

    seq: int | None = None
    idProd: int | None = None
    codigoInterno: str | None = None
    descricaoDoProduto: str | None = None
    numeroDeSerieLote: str | None = None
    codigoDoProjeto: int | None = None
    saldo: Number | None = None
    quantidadeContagem1: Number | None = None
    quantidadeContagem2: Number | None = None
    quantidadeContagem3: Number | None = None
    diferenca: Number | None = None


INVENTORY_LIST = Operation.listing("stock.inventories.list", "/v2/estoque/inventario", Inventory)
INVENTORY_OPEN = Operation.creation(
    "stock.inventories.open", "/v2/estoque/inventario", InventoryInput, Inventory
)
INVENTORY_EDIT = Operation.change(
    "stock.inventories.edit", "/v2/estoque/inventario", InventoryChange, Inventory
)
INVENTORY_SHOW = Operation.reading(
    "stock.inventories.show", "/v2/estoque/inventario/{idInventario}", Inventory
)
INVENTORY_ITEMS = Operation.listing(
    "stock.inventories.items", "/v2/estoque/inventario/{idInventario}/produtos", InventoryItem
)
INVENTORY_START_COUNT = Operation.step(
    "stock.inventories.start_count",
    "/v2/estoque/inventario/{idInventario}/contagem/{contagem}/iniciar",
    Inventory,
)
INVENTORY_COUNT = Operation(
    name="stock.inventories.count",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/contagem/{contagem}",
    body=InventoryCount,
    data=list[InventoryItem],
    repeatable=True,
)
INVENTORY_REFRESH = Operation(
    name="stock.inventories.refresh",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/atualizar-saldos",
    data=list[InventoryItem],
    repeatable=True,
)
INVENTORY_VALIDATE = Operation.step(
    "stock.inventories.validate", "/v2/estoque/inventario/{idInventario}/validar", Inventory
)
INVENTORY_PROCESS = Operation.step(
    "stock.inventories.process", "/v2/estoque/inventario/{idInventario}/processar", Inventory
)
INVENTORY_CLOSE = Operation.step(
    "stock.inventories.close", "/v2/estoque/inventario/{idInventario}/encerrar", Inventory
)
