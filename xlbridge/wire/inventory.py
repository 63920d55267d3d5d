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


class InventoryTerms(WireModel):
    """Which warehouse an inventory counts, and what is said about it."""

    codigoDaFilial: int | None = None
    codigoDoAlmoxarifado: int | None = None
    codigoDoCentroDeCusto: str | None = None
    descricaoDoInventario: str | None = None
    observacao: str | None = None
    carregarBaseDeProdutos: bool | None = None


class InventoryInput(InventoryTerms):
    """An inventory of a warehouse to open.

    With ``carregarBaseDeProdutos`` every product that has a balance there is to be counted; else
    only what is counted is adjusted.
    """

    codigoDaFilial: int = Field(gt=0)
    codigoDoAlmoxarifado: int = Field(gt=0)
    carregarBaseDeProdutos: bool = False


class InventoryChange(WireModel):
    """What may be edited of an inventory; fields that are left out stay as they are."""

    idInventario: int
    codigoDoCentroDeCusto: str | None = None
    descricaoDoInventario: str | None = None
    observacao: str | None = None


class Inventory(InventoryTerms):
    """The header of an inventory.

    ``inventarioContagem1`` … ``3`` say which counts were started, the ``pode…`` flags what is
    allowed now.
    """

    idInventario: int
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
    saldo: Number | None = None
    quantidadeContagem1: Number | None = None
    quantidadeContagem2: Number | None = None
    quantidadeContagem3: Number | None = None
    diferenca: Number | None = None
