"""Words by which ERPs, banks and accountants call the columns of the resources.

Told by column, as the same column has the same names in every resource. A name in ``USUAL`` tells
the column by itself, one in ``POSSIBLE`` may also mean something else.
"""

from collections.abc import Mapping
from functools import cache

from xlbridge.validation.headers.header_matching import header_words

Words = frozenset[str]

_SHORT_FORMS: Mapping[str, str] = {
    "aliq": "aliquota",
    "almox": "almoxarifado",
    "alm": "almoxarifado",
    "cart": "carteira",
    "ccusto": "cc",
    "cobr": "cobranca",
    "dep": "deposito",
    "docto": "documento",
    "emis": "emissao",
    "estab": "estabelecimento",
    "fat": "fatura",
    "fornec": "fornecedor",
    "fav": "favorecido",
    "lcto": "lancamento",
    "lancto": "lancamento",
    "liq": "liquido",
    "liquida": "liquido",
    "n": "numero",
    "no": "numero",
    "obs": "observacao",
    "observacoes": "observacao",
    "parc": "parcela",
    "prod": "produto",
    "qtd": "quantidade",
    "ref": "referencia",
    "referente": "referencia",
    "repr": "representante",
    "retida": "retido",
    "serv": "servico",
    "servicos": "servico",
    "tit": "titulo",
    "val": "valor",
    "vct": "vencimento",
    "vcto": "vencimento",
    "venc": "vencimento",
    "vencto": "vencimento",
    "vend": "vendedor",
    "fone": "telefone",
    "emails": "email",
    "mail": "email",
}
_FILLERS = frozenset(
    {"codigo", "code", "id", "numero", "number", "data", "date", "valor", "value", "amount", "a"}
    | {"ao", "ou", "em", "para", "por", "r"}
)
"""Words that tell the kind of a column, and not which one it is."""

USUAL: Mapping[str, tuple[str, ...]] = {
    "codigoDaFilial": ("filial", "empresa", "loja", "estabelecimento", "branch", "company"),
    "codigoDoCliente": ("cliente", "customer", "client", "sacado", "codigo do pagador"),
    "codigoDoFornecedor": ("fornecedor", "vendor", "supplier", "codigo do beneficiario"),
    "codigoDoItemDeLancamento": (
        *("item de lancamento", "categoria", "plano de contas", "conta contabil"),
        *("conta gerencial", "conta financeira", "natureza financeira", "category"),
    ),
    "codigoDoCentroDeCusto": (
        *("centro de custo", "centro custos", "cc", "c custo", "centro de resultado"),
        *("cost centre", "cost center"),
    ),
    "codigoDaContaCorrente": (
        *("conta corrente", "conta bancaria", "conta banco", "banco conta", "bank account"),
        *("caixa banco",),
    ),
    "historico": (
        *("historico", "historico do lancamento", "descricao do lancamento", "referencia a"),
        *("descricao do titulo", "history", "description", "memo"),
    ),
    "numeroDoDocumento": (
        *("numero do documento", "documento", "numero do titulo", "titulo", "seu numero", "nf"),
        *("nota fiscal", "nfe", "numero da nota", "fatura", "duplicata", "invoice", "bill"),
    ),
    "dataDeEmissao": ("emissao", "data de emissao", "issue date", "data do documento"),
    "dataDeVencimento": ("vencimento", "data de vencimento", "due date", "vencimento original"),
    "valorDoLancamento": (
        *("valor", "valor do titulo", "valor do lancamento", "valor da conta", "valor original"),
        *("valor do documento", "valor nominal", "amount", "montante", "valor liquido", "liquido"),
        *("net amount", "valor a pagar", "valor a receber", "valor da parcela", "valor total"),
    ),
    "codigoDaFormaDePagamento": (
        *("forma de pagamento", "forma de recebimento", "meio de pagamento", "payment method"),
        *("forma pagamento", "meio de cobranca"),
    ),
    "codigoDaCarteira": ("carteira", "carteira de cobranca"),
    "idws": ("identificador", "id externo", "identificador externo", "id integracao"),
    "PeriodoDeCompetencia": ("competencia", "mes de competencia", "periodo de competencia"),
    "CodigoDeBarras": ("codigo de barras", "linha digitavel", "cod barras", "barcode"),
    "CodigoDoCustoABC": ("custo abc",),
    "ValorBruto": ("valor bruto", "bruto", "gross amount", "valor bruto da nf"),
    "ValorPISRetido": ("pis", "pis retido", "valor pis"),
    "ValorCOFINSRetido": ("cofins", "cofins retido", "valor cofins"),
    "ValorCSLLRetido": ("csll", "csll retido", "valor csll"),
    "ValorIRRetido": ("ir", "irrf", "ir retido", "valor ir", "imposto de renda"),
    "ValorISSRetido": ("iss", "iss retido", "valor iss", "issqn"),
    "ValorINSSRetido": ("inss", "inss retido", "valor inss"),
    "nomeComercial": ("nome fantasia", "fantasia", "nome comercial", "trade name"),
    "natureza": ("natureza", "tipo de pessoa", "pessoa", "tipo pessoa", "pessoa fisica juridica"),
    "cnpj": ("cnpj", "cgc"),
    "cpf": ("cpf",),
    "seuCodigo": ("codigo do cliente", "cod cliente", "customer id", "codigo no erp"),
    "codigoDoTipoDeCliente": ("tipo de cliente", "customer type"),
    "codigoDoVendedor": ("vendedor", "representante", "seller", "sales rep"),
    "email": ("email", "e mail", "correio eletronico"),
    "telefone": ("telefone", "celular", "whatsapp", "phone", "tel comercial", "fone contato"),
    "codigoDoServicoPrestado": (
        *("servico", "codigo do servico", "servico prestado", "item da lista", "lc 116"),
        *("item lista servico", "service code"),
    ),
    "valorDoServico": ("valor do servico", "valor", "valor bruto", "valor da nota", "amount"),
    "aliquotaISSRetido": ("aliquota iss", "iss", "aliquota do iss", "iss aliquota"),
    "CodigoNBS": ("nbs", "codigo nbs"),
    "CodigoDaSituacaoTributariaPIS": ("cst pis",),
    "CodigoDaSituacaoTributariaCOFINS": ("cst cofins",),
    "CodigoDaSituacaoTributariaIBSCBS": ("cst ibs cbs", "cst ibs"),
    "ClassificacaoIBSCBS": ("classificacao tributaria", "c class trib", "cclasstrib"),
    "AliquotaIBSMunicipal": ("aliquota ibs municipal",),
    "ValorIBSMunicipal": ("valor ibs municipal", "ibs municipal"),
    "AliquotaIBSEstadual": ("aliquota ibs estadual",),
    "ValorIBSEstadual": ("valor ibs estadual", "ibs estadual"),
    "AliquotaCBS": ("aliquota cbs",),
    "ValorCBS": ("valor cbs", "cbs"),
    "codigoDoAlmoxarifado": ("almoxarifado", "deposito", "estoque", "armazem", "warehouse"),
    "codigoDaSecao": ("secao", "endereco", "localizacao", "posicao", "location", "bin"),
    "idProd": ("produto", "sku", "id produto", "item", "product"),
    "ativo": ("ativo", "habilitado", "active", "ativa"),
}
POSSIBLE: Mapping[str, tuple[str, ...]] = {
    "codigoDaFilial": ("unidade", "matriz filial", "store", "unit"),
    "codigoDoCliente": ("codigo", "tomador", "codigo do tomador", "conta do cliente", "parceiro"),
    "codigoDoFornecedor": ("codigo", "prestador", "parceiro", "credor"),
    "codigoDoItemDeLancamento": ("item", "natureza", "classificacao", "conta de resultado"),
    "codigoDoCentroDeCusto": ("departamento", "projeto", "setor"),
    "codigoDaContaCorrente": ("conta", "banco", "portador", "caixa", "account", "bank"),
    "historico": ("descricao", "complemento", "texto", "observacao", "finalidade"),
    "numeroDoDocumento": ("numero", "boleto", "pedido", "recibo"),
    "dataDeEmissao": ("data", "data de lancamento", "bill date", "invoice date", "date"),
    "dataDeVencimento": ("data prevista", "previsao", "vencimento liquido"),
    "valorDoLancamento": ("total", "valor da nota", "saldo a pagar", "saldo a receber"),
    "codigoDaFormaDePagamento": ("pagamento", "forma"),
    "idws": ("id", "id interno", "guid", "uuid"),
    "nomeComercial": ("razao social", "nome", "cliente", "nome do cliente", "name", "apelido"),
    "cnpj": ("documento", "cnpj cpf", "cpf cnpj"),
    "cpf": ("documento",),
    "seuCodigo": ("codigo", "cliente", "id", "parceiro", "matricula", "cod empresa"),
    "telefone": ("contato",),
    "codigoDaSecao": ("rua", "local", "endereco estoque"),
    "valorDoServico": ("total", "valor total", "preco"),
    "ativo": ("status", "situacao"),
    "idProd": ("codigo", "id"),
}
PERSON_NAMES = frozenset(
    {"nome", "razao", "fantasia", "name", "apelido", "contato", "endereco", "cidade"}
)
"""Words that tell a name, which is no code."""
OTHER_THINGS = frozenset(
    {"pago", "paga", "pagamento", "baixa", "real", "saldo", "juros", "multa", "desconto"}
    | {"nascimento", "cadastro", "created", "updated", "situacao", "status", "nosso", "prorrogado"}
    | {"recebido", "recebimento", "abatimento", "quantidade", "cidade", "uf", "cep", "bairro"}
    | {"inscricao", "estadual", "rg", "ie", "alteracao", "inclusao", "descricao", "obs"}
)
"""Words that make of a header something else than its other words."""


def mapping_words(header: str) -> Words:
    """Return the words of a header, short ones written out."""
    spaced = header.replace("_", " ").replace("/", " ").replace("-mail", "mail")
    words = frozenset(_SHORT_FORMS.get(word, word) for word in header_words(spaced))
    return words or (frozenset({"valor"}) if "$" in header else words)


def telling_words(words: Words) -> Words:
    """Return the words that tell a column from others of its kind."""
    return words - _FILLERS


@cache
def phrases(column: str) -> tuple[tuple[Words, bool], ...]:
    """Return the names of a column as words, each with whether it is a usual one."""
    usual = [(mapping_words(name), True) for name in USUAL.get(column, ())]
    possible = [(mapping_words(name), False) for name in POSSIBLE.get(column, ())]
    return (*usual, *possible)


@cache
def vocabulary() -> frozenset[str]:
    """Return every word that names of columns are made of."""
    return frozenset(
        word
        for names in (USUAL, POSSIBLE)
        for column in names
        for words, _ in phrases(column)
        for word in words
    )
