"""How many characters the texts of the interface have at most.

The spec shows no length; these are this project's choice (``docs/assumptions.md``): what the tax
authority's layouts and bank slips ask for, and room enough for what people write. The same name
has the same length wherever it stands.
"""

from collections.abc import Mapping

UNIT_OF_STATE, MEASURE, CODE, SHORT, NAME, REMARK, ADDRESS, ADDITIONAL = (
    2, 20, 30, 60, 150, 500, 2_000, 5_000,
)  # fmt: skip

_NAMES: Mapping[int, str] = {
    UNIT_OF_STATE: "uf entregaUF transportadoraUF transportadoraPlacaUF",
    MEASURE: (
        "Altura Largura Comprimento altura largura comprimento cep entregaCEP ncm naturezaJuridica "
        "transportadoraNatureza transportadoraFreteEmiDest transportadoraPlaca"
    ),
    CODE: (
        "cnpj cpf cnpjcpf transportadoraCNPJ transportadoraIE inscricaoEstadual inscricaoMunicipal "
        "telefone codigoDoCentroDeCusto CodigosCentroCustos codigoDoItemDeLancamento codigoDaSecao "
        "codigoDoLocal codigoDoGrupoDeProduto codigoDoMunicipio entregaCodigoMunicipio "
        "codigoDoServicoPrestado CodigoDoCustoABC ClassificacaoIBSCBS CodigoNBS "
        "CodigoIndicadorDaOperacao CodigoDaRetencaoPisCofinsCsll CodigoDaSituacaoTributariaCOFINS "
        "CodigoDaSituacaoTributariaIBSCBS CodigoDaSituacaoTributariaPIS"
    ),
    SHORT: (
        "CodigoDeBarras codigoDeBarras codigoInterno CodigoGenerico seuCodigo idws IdPedidoWS "
        "documento numeroDoDocumento numeroDeSerie numeroDeSerieLote marca modelo cargo numero "
        "bairro cidade complemento entregaNumero entregaBairro entregaCidade entregaComplemento "
        "naturezaDaOperacao transportadoraCidade transportadoraEspecie transportadoraVolume"
    ),
    NAME: (
        "nome nomeComercial nomeDoCliente email contato logradouro entregaLogradouro "
        "entregaNomeContato transportadoraNome transportadoraEndereco descricaoDoProduto "
        "DescricaoDoProdutoIngles descricaoDoInventario descricaoDoCentroDeCusto "
        "descricaoDoTipoDeProduto descricaoDoTipoDeCliente descricaoDaCategoriaDeCliente"
    ),
    REMARK: (
        "historico historicoCR observacao observacaoCR transportadoraObservacao "
        "descricaoDoEstorno password"
    ),
    ADDRESS: "url",
    ADDITIONAL: "dadosAdicionais",
}

LONGEST: Mapping[str, int] = {
    name: length for length, names in _NAMES.items() for name in names.split()
}
"""The most characters of every text that a caller may send, by the field's name."""
