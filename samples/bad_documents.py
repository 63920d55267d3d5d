"""Bad cells of samples whose records have lists in child sheets."""

from collections.abc import Mapping

from bad_sheet import BadSheet, CopyOf, Damage, ErrorCell

_ORDER = BadSheet(
    sheet="Pedidos",
    title="Pedidos da feira",
    header_row=3,
    first_column=1,
    blank_before=(6,),
    damages=(
        Damage(1, "codigoDaFilial", None, "required-missing"),
        Damage(2, "codigoDoCliente", "cliente novo", "type-integer"),
        Damage(4, "chave", CopyOf(3), "duplicate-in-sheet"),
        Damage(6, "chave", "PV-9999", "parent-without-children"),
        Damage(8, "dataDaOrdem", "31/02/2026", "type-date"),
        Damage(9, "faturamentoNotaFiscalUnica", "talvez", "type-boolean"),
    ),
    children={
        "produtos": BadSheet(
            sheet="Produtos",
            title="Itens dos pedidos",
            header_row=2,
            first_column=1,
            blank_before=(10,),
            damages=(
                Damage(1, "idProduto", "parafuso", "type-integer"),
                Damage(2, "quantidade", 0, "value-range"),
                Damage(20, "chave", None, "required-missing"),
                Damage(23, "chave", "PV-0O08", "child-without-parent"),
                Damage(26, "valorUnitario", "12,50", "number-as-text"),
                Damage(30, "aliquotaICMS", 118, "value-range"),
                Damage(36, "quantidade", ErrorCell("#N/A"), "cell-error"),
                Damage(94, "quantidade", 1, None),
            ),
            noticed=(
                *((record, "chave", "child-without-parent") for record in (7, 8)),
                *((record, "chave", "child-without-parent") for record in (14, 15, 16)),
            ),
        ),
        "parcelas": BadSheet(
            sheet="parcelas",
            title=None,
            header_row=1,
            first_column=0,
            blank_before=(),
            damages=(
                Damage(1, "percentual", 50, "child-sum"),
                Damage(13, "dataDeVencimento", "amanhã", "type-date"),
                Damage(16, "percentual", -5, "value-range"),
                Damage(18, "valor", 1.005, "decimal-places"),
                Damage(21, "chave", None, "required-missing"),
            ),
            noticed=tuple((record, "chave", "child-without-parent") for record in (6, 7)),
        ),
    },
)


def _requests(sheet: str, title: str) -> BadSheet:
    return BadSheet(
        sheet=sheet,
        title=title,
        header_row=3,
        first_column=0,
        blank_before=(4,),
        damages=(
            Damage(1, "codigoDaFilial", "matriz", "type-integer"),
            Damage(2, "codigoDoTipoDeCompra", None, "required-missing"),
            Damage(3, "codigoDoColaborador", 0, "value-range"),
            Damage(5, "codigoDoMotivo", 1.5, "type-integer"),
        ),
        children={
            "itens": _bad_items(
                Damage(2, "idProduto", -1, "value-range"),
                Damage(3, "quantidade", "muitos", "type-number"),
            )
        },
    )


def _bad_items(*damages: Damage, sheet: str = "itens") -> BadSheet:
    """Return a sheet of items: the first names no record, another lacks its quantity."""
    return BadSheet(
        sheet=sheet,
        title=None,
        header_row=1,
        first_column=0,
        blank_before=(),
        damages=(
            Damage(1, "quantidade", None, "required-missing"),
            *damages,
            Damage(6, "quantidade", 0, "value-range"),
            Damage(8, "quantidade", 1.23456789, "decimal-places"),
        ),
    )


_PURCHASE_ORDER = BadSheet(
    sheet="Pedidos de compra",
    title=None,
    header_row=1,
    first_column=0,
    blank_before=(),
    damages=(
        Damage(1, "codigoDaFilial", None, "required-missing"),
        Damage(2, "codigoDoFornecedor", "Metalúrgica Aurora", "type-integer"),
        Damage(4, "IdPedidoWS", CopyOf(3), "duplicate-in-sheet"),
        Damage(5, "numeroDaOrdem", 0, "value-range"),
    ),
    children={"itens": _bad_items(Damage(4, "valorUnitario", -2, "value-range"))},
)

_PRODUCT_INVOICE = BadSheet(
    sheet="nfe",
    title="Notas a registrar",
    header_row=2,
    first_column=1,
    blank_before=(3,),
    damages=(
        Damage(1, "tipoDeOperacao", "Devolução", "value-not-allowed"),
        Damage(2, "naturezaDaOperacao", None, "required-missing"),
        Damage(4, "codigoDoCliente", "1001a", "type-integer"),
        Damage(6, "codigoDaFormaDePagamento", ErrorCell("#REF!"), "cell-error"),
    ),
    children={"produtos": _bad_items(Damage(3, "idProduto", 0, "value-range"), sheet="produtos")},
)

BAD_DOCUMENTS: Mapping[str, BadSheet] = {
    "nfe": _PRODUCT_INVOICE,
    "ordem": _requests("ordem", "Ordens de compra"),
    "pedido": _ORDER,
    "pedido-compra": _PURCHASE_ORDER,
    "requisicao": _requests("requisicao", "Requisições de compra"),
}


def _split(sheet: str) -> BadSheet:
    return BadSheet(
        sheet=sheet,
        title=None,
        header_row=1,
        first_column=0,
        blank_before=(),
        damages=(
            Damage(2, "chave", CopyOf(1), "duplicate-in-sheet"),
            Damage(11, "valorDoLancamento", 0, "value-range"),
        ),
        children={
            "rateio": BadSheet(
                sheet="rateio",
                title="Rateio dos títulos",
                header_row=3,
                first_column=1,
                blank_before=(4,),
                damages=(
                    Damage(5, "valor", 1, "child-sum"),
                    Damage(8, "valor", "metade", "type-number"),
                    Damage(9, "chave", "T999", "child-without-parent"),
                    Damage(12, "chave", None, "required-missing"),
                    Damage(13, "codigoDaFilialDoRateio", 0, "value-range"),
                ),
                noticed=tuple((record, "chave", "child-without-parent") for record in (3, 4)),
            ),
        },
    )


BAD_SPLITS: Mapping[str, BadSheet] = {
    "contaspagar": _split("contaspagar"),
    "contasreceber": _split("contasreceber"),
}
"""Bad cells of titles with splits."""
