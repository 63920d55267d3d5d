"""Inventories: the header, the counted products. Source: the spec, Inventory header, States.

The cycle's sub-paths and the shape of counts are this project's choice
(``docs/assumptions.md``).
"""

from enum import StrEnum
from uuid import UUID

from pydantic import Field

from xlbridge.wire.model import Moment, Number, WireModel


class InventorySituation(StrEnum):
    """Where an inventory stands in its cycle."""

    OPEN = "Aberto"
    COUNTING = "Em contagem"
    VALIDATED = "Validado"
    PROCESSED = "Processado"
    CLOSED = "Encerrado"


class InventoryInput(WireModel):
    """An inventory of a warehouse to open.

    With ``carregarBaseDeProdutos`` every product that has a balance there is to be counted; else
    only what is counted is adjusted.
    """

    codigoDaFilial: int = Field(gt=0)
    codigoDoAlmoxarifado: int = Field(gt=0)
    codigoDoCentroDeCusto: str | None = None
    descricaoDoInventario: str | None = None
    observacao: str | None = None
    carregarBaseDeProdutos: bool = False


class InventoryChange(WireModel):
    """What may be edited of an inventory; fields that are left out stay as they are."""

    idInventario: int
    codigoDoCentroDeCusto: str | None = None
    descricaoDoInventario: str | None = None
    observacao: str | None = None


class Inventory(InventoryInput):
    """The header of an inventory.

    ``inventarioContagem1`` … ``3`` say which counts were started, the ``pode…`` flags what is
    allowed now.
    """

    idInventario: int
    descricaoDaFilial: str | None = None
    descricaoDoAlmoxarifado: str | None = None
    descricaoDoCentroDeCusto: str | None = None
    situacaoDoInventario: InventorySituation
    inventarioContagem1: bool
    inventarioContagem2: bool
    inventarioContagem3: bool
    emProcessamento: bool
    podeEditar: bool
    podeAtualizarSaldos: bool
    podeIniciarContagem1: bool
    podeIniciarContagem2: bool
    podeIniciarContagem3: bool
    podeProcessar: bool
    podeEncerrar: bool
    encerrado: bool
    dataDeInicio: Moment
    dataDeEncerramento: Moment | None = None
    idProcessamento: UUID | None = None
    logProcessamento: str | None = None
    ultimaAtualizacao: str


class CountedProduct(WireModel):
    """The quantity of one product that was counted."""

    idProd: int
    numeroDeSerieLote: str | None = None
    codigoDoProjeto: int | None = None
    quantidade: Number = Field(ge=0)


class InventoryCount(WireModel):
    """Quantities of the count that is going on; a product counted again is corrected."""

    itens: list[CountedProduct] = Field(min_length=1)


class InventoryItem(WireModel):
    """One product of an inventory; the last count that has it is the one that holds.

    ``diferenca`` is the counted quantity less ``saldo``, the balance as it was read when the
    product joined the inventory or balances were last brought up to date.
    """

    seq: int
    idProd: int
    codigoInterno: str | None = None
    descricaoDoProduto: str | None = None
    numeroDeSerieLote: str | None = None
    codigoDoProjeto: int | None = None
    saldo: Number
    quantidadeContagem1: Number | None = None
    quantidadeContagem2: Number | None = None
    quantidadeContagem3: Number | None = None
    diferenca: Number | None = None
