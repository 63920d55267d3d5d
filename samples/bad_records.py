"""Bad cells of samples of records that are created one by one."""

from collections.abc import Mapping
from datetime import date

from bad_sheet import BadSheet, CopyOf, Damage, ErrorCell

_PRODUCT_TYPE = BadSheet(
    sheet="Tipos",
    title="Tipos de produto a cadastrar",
    header_row=3,
    first_column=1,
    blank_before=(5,),
    damages=(
        Damage(1, "descricaoDoTipoDeProduto", None, "required-missing"),
        Damage(2, "descricaoDoTipoDeProduto", "Peça" + " de reposição" * 12, "text-length"),
        Damage(3, "codigoDoTipoDeProduto", "doze", "type-integer"),
        Damage(4, "codigoDoTipoDeProduto", 0, "value-range"),
        Damage(5, "codigoDoTipoDeProduto", "105", "number-as-text"),
        Damage(8, "codigoDoTipoDeProduto", CopyOf(7), "duplicate-in-sheet"),
        Damage(11, "descricaoDoTipoDeProduto", CopyOf(10), "duplicate-in-sheet"),
        Damage(13, "descricaoDoTipoDeProduto", ErrorCell("#N/A"), "cell-error"),
        Damage(14, "codigoDoTipoDeProduto", 12.5, "type-integer"),
    ),
)

_CLIENT_TYPE = BadSheet(
    sheet="Plan1",
    title=None,
    header_row=1,
    first_column=0,
    blank_before=(4,),
    damages=(
        Damage(1, "descricaoDoTipoDeCliente", None, "required-missing"),
        Damage(2, "codigoDoTipoDeCliente", "A1", "type-integer"),
        Damage(4, "codigoDoTipoDeCliente", -4, "value-range"),
        Damage(8, "codigoDoTipoDeCliente", CopyOf(7), "duplicate-in-sheet"),
        Damage(9, "descricaoDoTipoDeCliente", " Atacado ", "text-spaces"),
        Damage(10, "descricaoDoTipoDeCliente", date(2026, 10, 1), "type-text"),
    ),
)

_CLIENT_CATEGORY = BadSheet(
    sheet="Categorias",
    title="Categorias de cliente",
    header_row=2,
    first_column=0,
    blank_before=(),
    damages=(
        Damage(1, "descricaoDaCategoriaDeCliente", None, "required-missing"),
        Damage(2, "codigoDaCategoriaDeCliente", 10.5, "type-integer"),
        Damage(5, "descricaoDaCategoriaDeCliente", "Faixa " * 30 + "fim", "text-length"),
        Damage(8, "codigoDaCategoriaDeCliente", CopyOf(7), "duplicate-in-sheet"),
        Damage(11, "descricaoDaCategoriaDeCliente", ErrorCell("#REF!"), "cell-error"),
    ),
)

_COST_CENTRE = BadSheet(
    sheet="Centros",
    title="Centros de custo novos",
    header_row=3,
    first_column=1,
    blank_before=(7,),
    damages=(
        Damage(1, "codigoDoCentroDeCusto", None, "required-missing"),
        Damage(2, "descricaoDoCentroDeCusto", None, "required-missing"),
        Damage(3, "codigoDoCentroDeCusto", 3.001, "type-text"),
        Damage(5, "codigoDoCentroDeCusto", CopyOf(4), "duplicate-in-sheet"),
        Damage(6, "codigoDoCentroDeCusto", "03." * 11, "text-length"),
        Damage(8, "descricaoDoCentroDeCusto", True, "type-text"),
        Damage(10, "descricaoDoCentroDeCusto", CopyOf(9), "duplicate-in-sheet"),
    ),
)

_SUPPLIER = BadSheet(
    sheet="fornecedor",
    title="Fornecedores a cadastrar",
    header_row=4,
    first_column=1,
    blank_before=(6,),
    added=("Contato",),
    layout={"Contato": "column-unknown"},
    damages=(
        Damage(1, "nomeComercial", None, "required-missing"),
        Damage(2, "natureza", "PJ", "value-not-allowed"),
        Damage(3, "cnpj", "11.222.333/0001-82", "cnpj-invalid"),
        Damage(5, "cpf", "529.982.247-26", "cpf-invalid"),
        Damage(6, "email", "vendas@", "email-invalid"),
        Damage(7, "telefone", "3222", "text-length"),
        Damage(8, "ativo", "talvez", "type-boolean"),
        Damage(9, "ativo", "Não", None),
        Damage(11, "cnpj", CopyOf(4), "duplicate-in-sheet"),
        Damage(12, "nomeComercial", ErrorCell("#N/A"), "cell-error"),
        Damage(13, "cnpj", 191000105, "code-leading-zeros"),
    ),
)

_CONTACT = BadSheet(
    sheet="Contatos",
    title="Contatos dos clientes",
    header_row=3,
    first_column=0,
    blank_before=(3,),
    damages=(
        Damage(1, "codigoDoCliente", None, "required-missing"),
        Damage(2, "nome", None, "required-missing"),
        Damage(3, "codigoDoCliente", "Padaria", "type-integer"),
        Damage(4, "email", "a@b", "email-invalid"),
        Damage(5, "telefone", "9876", "text-length"),
        Damage(6, "cargo", "Gerente" + " geral" * 10, "text-length"),
        Damage(8, "codigoDoCliente", CopyOf(7), None),
        Damage(8, "nome", CopyOf(7), "duplicate-in-sheet"),
        Damage(9, "codigoDoCliente", 0, "value-range"),
        Damage(10, "codigoDoCliente", "1003", "number-as-text"),
    ),
)

_PRODUCT = BadSheet(
    sheet="Produtos",
    title="Cadastro de produtos",
    header_row=5,
    first_column=1,
    blank_before=(4, 11),
    damages=(
        Damage(1, "descricaoDoProduto", None, "required-missing"),
        Damage(2, "ncm", "7318.15", "ncm-invalid"),
        Damage(3, "codigoDaUnidadeDeMedida", "UN", "type-integer"),
        Damage(4, "valorUnitario", -1, "value-range"),
        Damage(5, "valorUnitario", 1.1234567, "decimal-places"),
        Damage(6, "Peso", 0.1234, "decimal-places"),
        Damage(7, "PesoLiquido", 900, "net-exceeds-gross"),
        Damage(9, "codigoInterno", CopyOf(8), "duplicate-in-sheet"),
        Damage(11, "codigoDeBarras", CopyOf(10), "duplicate-in-sheet"),
        Damage(12, "codigoDoTipoDeProduto", 1.5, "type-integer"),
        Damage(13, "valorUnitario", "3,75", "number-as-text"),
        Damage(14, "PesoBruto", "pesado", "type-number"),
        Damage(15, "codigoInterno", "X" * 61, "text-length"),
        Damage(16, "codigoDoGrupoDeProduto", ErrorCell("#N/A"), "cell-error"),
    ),
)

_OUTPUT = BadSheet(
    sheet="Saídas",
    title="Saídas do almoxarifado",
    header_row=3,
    first_column=0,
    blank_before=(9,),
    damages=(
        Damage(1, "codigoDaFilial", None, "required-missing"),
        Damage(2, "quantidade", None, "required-missing"),
        Damage(3, "quantidade", 0, "value-range"),
        Damage(4, "quantidade", "duas", "type-number"),
        Damage(5, "codigoDaFilial", -1, "value-range"),
        Damage(6, "codigoDoCentroDeCusto", 1.001, "type-text"),
        Damage(7, "codigoDoColaboradorDestino", "Rita", "type-integer"),
        Damage(8, "quantidade", 1.1234567, "decimal-places"),
        Damage(10, "codigoDoProjeto", ErrorCell("#VALUE!"), "cell-error"),
        Damage(11, "observacao", "Consumo " * 63 + "fim", "text-length"),
    ),
)

_ENTRY = BadSheet(
    sheet="Entradas",
    title="Entradas de setembro",
    header_row=4,
    first_column=2,
    blank_before=(5,),
    damages=(
        Damage(1, "codigoDaFilial", None, "required-missing"),
        Damage(2, "dataDaEntrada", None, "required-missing"),
        Damage(3, "dataDaEntrada", "31/02/2026", "type-date"),
        Damage(4, "dataDaEntrada", "25/09/2026", "date-as-text"),
        Damage(6, "quantidade", -3, "value-range"),
        Damage(7, "quantidade", "1.234", "number-ambiguous"),
        Damage(8, "idProd", "2005", "number-as-text"),
        Damage(9, "idProd", 2007.2, "type-integer"),
        Damage(10, "valorUnitario", -0.01, "value-range"),
        Damage(11, "valorUnitario", ErrorCell("#DIV/0!"), "cell-error"),
    ),
)

_SPENDING_LIMIT = BadSheet(
    sheet="Orçamento",
    title="Orçamento de 2027",
    header_row=3,
    first_column=0,
    blank_before=(13,),
    damages=(
        Damage(1, "codigoDaFilial", None, "required-missing"),
        Damage(2, "ano", 27, "value-range"),
        Damage(3, "mes", 13, "value-range"),
        Damage(4, "mes", "janeiro", "type-integer"),
        Damage(5, "valorLimite", 10.999, "decimal-places"),
        Damage(6, "valorLimite", None, "required-missing"),
        Damage(7, "valorLimite", -1, "value-range"),
        Damage(8, "codigoDoItemDeLancamento", 2.01, "type-text"),
        Damage(12, "codigoDaFilial", CopyOf(9), None),
        Damage(12, "codigoDoCentroDeCusto", CopyOf(9), None),
        Damage(12, "codigoDoItemDeLancamento", CopyOf(9), None),
        Damage(12, "codigoDoProjeto", CopyOf(9), None),
        Damage(12, "ano", CopyOf(9), None),
        Damage(12, "mes", CopyOf(9), "duplicate-in-sheet"),
        Damage(14, "codigoDoProjeto", "Nordeste", "type-integer"),
    ),
)

_FORECAST = BadSheet(
    sheet="Contratos",
    title="Contratos de serviço",
    header_row=2,
    first_column=1,
    blank_before=(6,),
    damages=(
        Damage(1, "codigoDoCliente", None, "required-missing"),
        Damage(2, "valorDoServico", "a combinar", "type-number"),
        Damage(3, "valorDoServico", 100.555, "decimal-places"),
        Damage(4, "dataDeInicio", None, "required-missing"),
        Damage(5, "dataDeTermino", date(2026, 8, 1), "not-before"),
        Damage(7, "mesesEntreEmissoes", 121, "value-range"),
        Damage(8, "percentualDeReajuste", 101, "value-range"),
        Damage(9, "emissaoAutomatica", "às vezes", "type-boolean"),
        Damage(10, "codigoDoServicoPrestado", 14.01, "type-text"),
        Damage(11, "mesesEntreReajustes", 0, "value-range"),
    ),
)

_INVENTORY = BadSheet(
    sheet="Inventários",
    title=None,
    header_row=1,
    first_column=0,
    blank_before=(3,),
    damages=(
        Damage(1, "codigoDaFilial", None, "required-missing"),
        Damage(2, "codigoDoAlmoxarifado", None, "required-missing"),
        Damage(3, "codigoDoAlmoxarifado", "Loja", "type-integer"),
        Damage(4, "carregarBaseDeProdutos", "parte", "type-boolean"),
        Damage(5, "codigoDaFilial", 0, "value-range"),
        Damage(6, "descricaoDoInventario", "Rotativo " * 17 + "fim", "text-length"),
        Damage(7, "observacao", ErrorCell("#N/A"), "cell-error"),
        Damage(9, "chave", CopyOf(8), "duplicate-in-sheet"),
    ),
    children={
        "contagens": BadSheet(
            sheet="Contagens",
            title="Contagens de setembro",
            header_row=3,
            first_column=1,
            blank_before=(5,),
            damages=(
                Damage(1, "contagem", 4, "value-range"),
                Damage(2, "idProd", "parafuso", "type-integer"),
                Damage(3, "quantidade", -1, "value-range"),
                Damage(4, "quantidade", None, "required-missing"),
                Damage(6, "idProd", CopyOf(5), "duplicate-in-sheet"),
                Damage(8, "chave", "INV-99", "child-without-parent"),
                Damage(11, "quantidade", "12 caixas", "type-number"),
                Damage(12, "chave", None, "required-missing"),
            ),
        )
    },
)

BAD_RECORDS: Mapping[str, BadSheet] = {
    "categoriacliente": _CLIENT_CATEGORY,
    "centrodecusto": _COST_CENTRE,
    "clientecontato": _CONTACT,
    "entrada": _ENTRY,
    "fornecedor": _SUPPLIER,
    "inventario": _INVENTORY,
    "planejamento": _SPENDING_LIMIT,
    "previsao": _FORECAST,
    "produto": _PRODUCT,
    "saida": _OUTPUT,
    "tipo-de-produto": _PRODUCT_TYPE,
    "tipocliente": _CLIENT_TYPE,
}
