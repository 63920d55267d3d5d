"""Stock balances and addressing. Source: the spec, Stock balance row, Product addressing."""

from xlbridge.wire.model import Number, WireModel


class StockBalance(WireModel):
    """The balance of one product in one place; products without balance are listed too.

    In the consolidated balance of a product, branch and warehouse are empty.
    """

    codigoDaFilial: int | None = None
    descricaoDaFilial: str | None = None
    codigoDoAlmoxarifado: int | None = None
    descricaoDoAlmoxarifado: str | None = None
    idProd: int
    descricaoDoProduto: str | None = None
    numeroDeSerieLote: str | None = None
    codigoDoProjeto: int | None = None
    descricaoDoProjeto: str | None = None
    quantidadeTotal: Number | None = None
    valorTotal: Number | None = None


class AddressingInput(WireModel):
    """A product's address in a warehouse, as an import sheet carries it."""

    codigoDaFilial: int
    codigoDoAlmoxarifado: int
    codigoDaSecao: str
    idProd: int
    codigoDaFilialSecao: int | None = None
    codigoDoAlmoxarifadoSecao: int | None = None
    ativo: bool = True
