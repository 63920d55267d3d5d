"""Bad cells of the bad samples, with the finding expected for each.

Each resource's sheet starts from good rows, in which single cells are replaced. The codes are
chosen by hand from the schema files.
"""

from collections.abc import Mapping
from datetime import date

from bad_documents import BAD_DOCUMENTS
from bad_records import BAD_RECORDS
from bad_sheet import BadSheet, CopyOf, Damage, ErrorCell, UncalculatedFormula

_CLIENT = BadSheet(
    sheet="Plan1",
    title="Cadastro de clientes para importar — outubro de 2026",
    header_row=4,
    first_column=1,
    blank_before=(6, 15),
    damages=(
        Damage(1, "nomeComercial", None, "required-missing"),
        Damage(2, "natureza", "Jurídica", "value-not-allowed"),
        Damage(3, "cnpj", "11.222.333/0001-82", "cnpj-invalid"),
        Damage(4, "cpf", "529.982.247-26", "cpf-invalid"),
        Damage(5, "natureza", None, None),
        Damage(5, "cnpj", "12.ABC.345/01DE-36", "cnpj-invalid"),
        Damage(6, "cnpj", 191000105, "code-leading-zeros"),
        Damage(7, "email", "contato@", "email-invalid"),
        Damage(8, "cpf", 1234567890, "code-leading-zeros"),
        Damage(9, "email", "vendas@example.com; caixa@example.com", "email-invalid"),
        Damage(10, "codigoDoVendedor", "três", "type-integer"),
        Damage(11, "codigoDoVendedor", 0, "value-range"),
        Damage(12, "codigoDoTipoDeCliente", 1.5, "type-integer"),
        Damage(13, "codigoDoTipoDeCliente", "2", "number-as-text"),
        Damage(14, "telefone", "98765", "text-length"),
        Damage(15, "seuCodigo", "СLI-000015", "hidden-character"),
        Damage(17, "cnpj", CopyOf(13), "duplicate-in-sheet"),
        Damage(18, "codigoDoVendedor", ErrorCell("#N/A"), "cell-error"),
        Damage(19, "nomeComercial", "Gráfica" + " Horizonte" * 15, "text-length"),
        Damage(21, "nomeComercial", "  Padaria Três Irmãos Ltda ", "text-spaces"),
        Damage(22, "email", "\N{NO-BREAK SPACE}contato@example.com ", "text-spaces"),
    ),
)

_RECEIVABLE = BadSheet(
    sheet="Títulos",
    title="Títulos a receber",
    header_row=3,
    first_column=0,
    blank_before=(4, 5, 20),
    added=("Observação do Paulo",),
    layout={"Observação do Paulo": "column-unknown"},
    damages=(
        Damage(1, "codigoDaFilial", None, "required-missing"),
        Damage(2, "codigoDaFilial", -1, "value-range"),
        Damage(3, "codigoDoCliente", "12a", "type-integer"),
        Damage(4, "codigoDoCliente", 1001.5, "type-integer"),
        Damage(5, "codigoDoItemDeLancamento", date(2001, 1, 1), "type-text"),
        Damage(6, "codigoDoCentroDeCusto", 1.001, "type-text"),
        Damage(7, "historico", None, "required-missing"),
        Damage(8, "historico", "Mensalidade" + " Mensalidade" * 42, "text-length"),
        Damage(9, "dataDeEmissao", "31/02/2026", "type-date"),
        Damage(10, "dataDeEmissao", "25/09/2026", "date-as-text"),
        Damage(10, "dataDeVencimento", date(2026, 10, 25), None),
        Damage(11, "dataDeEmissao", "2026-09-03", "date-as-text"),
        Damage(11, "dataDeVencimento", date(2026, 10, 3), None),
        Damage(12, "dataDeVencimento", "05/11/2026", "date-ambiguous"),
        Damage(13, "dataDeVencimento", "05/12/26", "date-short-year"),
        Damage(14, "dataDeVencimento", date(2026, 8, 31), "not-before"),
        Damage(15, "valorDoLancamento", "1.234", "number-ambiguous"),
        Damage(16, "valorDoLancamento", "a combinar", "type-number"),
        Damage(17, "valorDoLancamento", 10.999, "decimal-places"),
        Damage(18, "valorDoLancamento", -50, "value-range"),
        Damage(19, "codigoDaContaCorrente", "1", "number-as-text"),
        Damage(20, "codigoDaFormaDePagamento", True, "type-integer"),
        Damage(21, "codigoDaCarteira", ErrorCell("#REF!"), "cell-error"),
        Damage(22, "numeroDoDocumento", "000022", None),
    ),
)

_PAYABLE = BadSheet(
    sheet="contaspagar",
    title=None,
    header_row=1,
    first_column=0,
    blank_before=(10,),
    damages=(
        Damage(1, "codigoDoFornecedor", None, "required-missing"),
        Damage(2, "codigoDoFornecedor", UncalculatedFormula("=500+2"), "formula-no-value"),
        Damage(3, "CodigoDeBarras", 1.9337370000000101e41, "code-digits-lost"),
        Damage(4, "CodigoDeBarras", "0" * 43, "barcode-invalid"),
        Damage(
            5, "CodigoDeBarras", "00194373700000001000500940144816060680935031", "barcode-invalid"
        ),
        Damage(
            6, "CodigoDeBarras", "00190500954014481606906809350314800000000000100", "slip-amount"
        ),
        Damage(7, "PeriodoDeCompetencia", "outubro de 2026", "type-date"),
        Damage(8, "valorDoLancamento", 99_999_999.99, "net-exceeds-gross"),
        Damage(9, "ValorPISRetido", -1, "value-range"),
        Damage(10, "ValorISSRetido", 12.345, "decimal-places"),
        Damage(11, "ValorIRRetido", "15,50", "number-as-text"),
        Damage(12, "ValorINSSRetido", "1.234,56", "number-as-text"),
        Damage(12, "ValorBruto", 90_000, None),
        Damage(13, "ValorINSSRetido", "2.500", "number-ambiguous"),
        Damage(13, "ValorBruto", 90_000, None),
        Damage(21, "ValorINSSRetido", 90_000, None),
        Damage(21, "valorDoLancamento", 10, "sum-exceeds-gross"),
        Damage(14, "codigoDaContaCorrente", ErrorCell("#DIV/0!"), "cell-error"),
        Damage(15, "dataDeVencimento", date(2026, 8, 1), "not-before"),
        Damage(16, "dataDeVencimento", True, "type-date"),
        Damage(17, "historico", True, "type-text"),
        Damage(18, "CodigoDoCustoABC", "ADMINISTRATIVO-" * 3, "text-length"),
        Damage(19, "codigoDaFilial", "matriz", "type-integer"),
        Damage(20, "ValorBruto", "não há", "type-number"),
    ),
)

_ADDRESSING = BadSheet(
    sheet="Endereços",
    title="Endereçamento do inventário",
    header_row=5,
    first_column=2,
    blank_before=(3, 12),
    damages=(
        Damage(1, "codigoDaFilial", None, "required-missing"),
        Damage(2, "codigoDoAlmoxarifado", "A", "type-integer"),
        Damage(3, "codigoDaSecao", None, "required-missing"),
        Damage(4, "codigoDaSecao", "CORREDOR-" * 4, "text-length"),
        Damage(5, "idProd", "2005", "number-as-text"),
        Damage(6, "idProd", 0, "value-range"),
        Damage(7, "idProd", 2007.2, "type-integer"),
        Damage(10, "codigoDaFilial", CopyOf(9), None),
        Damage(10, "codigoDoAlmoxarifado", CopyOf(9), None),
        Damage(10, "codigoDaSecao", CopyOf(9), None),
        Damage(10, "idProd", CopyOf(9), "duplicate-in-sheet"),
        Damage(11, "ativo", "talvez", "type-boolean"),
        Damage(12, "ativo", 3, "type-boolean"),
        Damage(13, "ativo", "Sim", None),
        Damage(14, "ativo", "FALSO", None),
        Damage(15, "codigoDaFilialSecao", -2, "value-range"),
        Damage(16, "codigoDoAlmoxarifadoSecao", ErrorCell("#VALUE!"), "cell-error"),
        Damage(17, "codigoDaSecao", True, "type-text"),
        Damage(18, "codigoDaFilial", date(2026, 1, 1), "type-integer"),
    ),
)

_SERVICE_INVOICE = BadSheet(
    sheet="nota-fiscal-servico",
    title="Notas de serviço a emitir",
    header_row=4,
    first_column=2,
    blank_before=(8,),
    renamed={"codigoDoServicoPrestado": "Código do serviço prestad"},
    layout={"Código do serviço prestad": "column-misspelt"},
    damages=(
        Damage(1, "valorDoServico", None, "required-missing"),
        Damage(2, "valorDoServico", 0, "value-range"),
        Damage(3, "aliquotaISSRetido", 105, "value-range"),
        Damage(4, "aliquotaISSRetido", -1, "value-range"),
        Damage(5, "aliquotaISSRetido", "2,5", "number-as-text"),
        Damage(6, "CodigoNBS", "1.1502.10", "format"),
        Damage(7, "CodigoNBS", 11502100, "code-leading-zeros"),
        Damage(8, "CodigoNBS", 115021000, None),
        Damage(9, "CodigoDaSituacaoTributariaPIS", 1, "code-leading-zeros"),
        Damage(10, "CodigoDaSituacaoTributariaCOFINS", "1", "format"),
        Damage(11, "CodigoDaSituacaoTributariaIBSCBS", "00O", "format"),
        Damage(12, "ClassificacaoIBSCBS", 1, "code-leading-zeros"),
        Damage(13, "CodigoTipoDaOperacao", -1, "value-range"),
        Damage(14, "CodigoTipoDaOperacao", "um", "type-integer"),
        Damage(15, "ValorCBS", 1.555, "decimal-places"),
        Damage(16, "CodigoDaRetencaoPisCofinsCsll", "RETER TUDO!", "text-length"),
        Damage(17, "codigoDoCliente", None, "required-missing"),
        Damage(18, "CodigoIndicadorDaOperacao", "10030", "format"),
    ),
)

BAD_SHEETS: Mapping[str, BadSheet] = {
    "cliente": _CLIENT,
    "contaspagar": _PAYABLE,
    "contasreceber": _RECEIVABLE,
    "enderecamento-de-produto": _ADDRESSING,
    "nota-fiscal-servico": _SERVICE_INVOICE,
    **BAD_RECORDS,
    **BAD_DOCUMENTS,
}
