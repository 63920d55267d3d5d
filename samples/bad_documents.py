"""Wrong cells of the samples whose records have lists, each in a sheet of its own."""

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
            noticed=(
                *((record, "chave", "child-without-parent") for record in (6, 7)),
                (22, "percentual", "child-sum"),
                (38, "valor", "child-sum"),
            ),
        ),
    },
)

BAD_DOCUMENTS: Mapping[str, BadSheet] = {
    "pedido": _ORDER,
}
