"""Inventories, their counts and counted products: models and operations.

Source: the spec, Inventory header, States, Stock ("any" of the inventory). The subpaths of the
cycle and the shape of counts are this project's choice (``docs/assumptions.md``).
"""

from enum import StrEnum
from uuid import UUID

from pydantic import Field

from xlbridge.wire.model import Moment, Number, Operation, WireModel, empty_list


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


INVENTORY_LIST = Operation(
    name="stock.inventories.list",
    method="GET",
    path="/v2/estoque/inventario",
    data=list[Inventory],
)
INVENTORY_OPEN = Operation(
    name="stock.inventories.open",
    method="POST",
    path="/v2/estoque/inventario",
    body=InventoryInput,
    data=Inventory,
)
INVENTORY_EDIT = Operation(
    name="stock.inventories.edit",
    method="PUT",
    path="/v2/estoque/inventario",
    body=InventoryChange,
    data=Inventory,
    repeatable=True,
)
INVENTORY_SHOW = Operation(
    name="stock.inventories.show",
    method="GET",
    path="/v2/estoque/inventario/{idInventario}",
    data=Inventory,
)
INVENTORY_ITEMS = Operation(
    name="stock.inventories.items",
    method="GET",
    path="/v2/estoque/inventario/{idInventario}/produtos",
    data=list[InventoryItem],
)
INVENTORY_START_COUNT = Operation(
    name="stock.inventories.start_count",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/contagem/{contagem}/iniciar",
    data=Inventory,
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
INVENTORY_VALIDATE = Operation(
    name="stock.inventories.validate",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/validar",
    data=Inventory,
)
INVENTORY_PROCESS = Operation(
    name="stock.inventories.process",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/processar",
    data=Inventory,
)
INVENTORY_CLOSE = Operation(
    name="stock.inventories.close",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/encerrar",
    data=Inventory,
)
