"""Names of the resources' columns in ERPs, banks and accountancy, and the fit of a header to a
column by its own names, these names, or earlier mappings.

Names are kept by column, as a column has the same names in every resource. A name in ``USUAL``
identifies the column, one in ``POSSIBLE`` may also mean something else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind, Resource
from xlbridge.validation.headers.header_matching import HeaderMatcher, header_key, header_words

Words = frozenset[str]

_SHORT_FORMS: Mapping[str, str] = {
    "aliq": "aliquota",
    "almox": "almoxarifado",
    "alm": "almoxarifado",
    "cart": "carteira",
    "ccusto": "cc",
    "clientes": "cliente",
    "cobr": "cobranca",
    "dep": "deposito",
    "docto": "documento",
    "emis": "emissao",
    "emp": "empresa",
    "estab": "estabelecimento",
    "fat": "fatura",
    "fornec": "fornecedor",
    "fornecedores": "fornecedor",
    "fav": "favorecido",
    "fin": "financeira",
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
    "produtos": "produto",
    "prev": "previsto",
    "prevista": "previsto",
    "qtd": "quantidade",
    "ref": "referencia",
    "referente": "referencia",
    "repr": "representante",
    "retida": "retido",
    "serv": "servico",
    "servicos": "servico",
    "tit": "titulo",
    "unit": "unitario",
    "qtde": "quantidade",
    "qty": "quantidade",
    "quant": "quantidade",
    "val": "valor",
    "vct": "vencimento",
    "venc": "vencimento",
    "vend": "vendedor",
    "fone": "telefone",
    "emails": "email",
    "mail": "email",
}
_AMOUNTS, _DATES = frozenset({"valor", "value", "amount"}), frozenset({"data", "date"})
_FILLERS = frozenset(
    {"codigo", "code", "id", "numero", "number", "a", "ao", "ou", "em", "para", "por", "r"}
    | _AMOUNTS
    | _DATES
)
"""Words that only indicate the kind of a column."""

_PRODUCT = ("produto", "sku", "id produto", "item", "product")
USUAL: Mapping[str, tuple[str, ...]] = {
    "codigoDaFilial": ("filial", "empresa", "loja", "estabelecimento", "branch", "company"),
    "codigoDoCliente": (
        *("cliente", "customer", "client", "sacado", "codigo do pagador"),
        *("nome do cliente", "razao social do cliente", "customer name", "client name"),
    ),
    "codigoDoFornecedor": (
        *("fornecedor", "vendor", "supplier", "codigo do beneficiario", "favorecido"),
        *("nome do fornecedor", "razao social do fornecedor", "vendor name", "supplier name"),
    ),
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
    "dataDeVencimento": (
        *("vencimento", "data de vencimento", "due date", "vencimento original"),
        *("vencimento real", "vencimento util"),
    ),
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
    "idProd": _PRODUCT,
    "idProduto": _PRODUCT,
    "quantidade": (
        *("quantidade", "quantidade entrada", "quantidade saida", "quantidade pedida"),
        *("quantidade vendida", "quantidade recebida"),
    ),
    "contagem": ("contagem", "quantidade contada", "contado", "quantidade fisica"),
    "dataDaEntrada": ("data da entrada", "data de entrada", "data de recebimento", "entrada"),
    "documento": ("documento", "nota fiscal", "nf", "numero da nota", "numero do documento"),
    "valorLimite": (
        *("valor limite", "limite", "valor mensal", "valor orcado", "orcado", "orcamento"),
        *("budget", "verba", "valor planejado"),
    ),
    "nome": ("contato", "nome do contato", "pessoa de contato"),
    "cargo": ("cargo", "funcao"),
    "ativo": ("ativo", "habilitado", "active", "ativa"),
    "descricaoDoProduto": ("descricao do produto", "nome do produto", "produto", "mercadoria"),
    "codigoInterno": ("codigo interno", "sku", "codigo do produto", "referencia", "part number"),
    "codigoDeBarras": ("codigo de barras", "ean", "gtin", "barcode", "ean 13", "gtin ean"),
    "valorUnitario": ("valor unitario", "preco unitario", "unit price", "preco de venda"),
    "descricaoDoCentroDeCusto": ("nome do centro de custo", "descricao do centro de custo"),
}
POSSIBLE: Mapping[str, tuple[str, ...]] = {
    "codigoDaFilial": ("unidade", "matriz filial", "store", "business unit"),
    "codigoDoCliente": ("codigo", "tomador", "codigo do tomador", "conta do cliente", "parceiro"),
    "codigoDoFornecedor": ("codigo", "prestador", "parceiro", "credor"),
    "codigoDoItemDeLancamento": ("item", "natureza", "classificacao", "conta de resultado"),
    "codigoDoCentroDeCusto": ("departamento", "projeto", "setor"),
    "codigoDaContaCorrente": ("conta", "banco", "portador", "caixa", "account", "bank"),
    "historico": ("descricao", "complemento", "texto", "observacao", "finalidade"),
    "numeroDoDocumento": ("numero", "boleto", "pedido", "recibo"),
    "dataDeEmissao": ("data", "data de lancamento", "bill date", "invoice date", "date"),
    "dataDeVencimento": (
        *("data prevista", "previsao", "vencimento liquido", "pagamento previsto"),
        *("previsao de pagamento", "recebimento previsto", "previsao de recebimento"),
    ),
    "valorDoLancamento": ("total", "valor da nota", "saldo a pagar", "saldo a receber"),
    "codigoDaFormaDePagamento": ("pagamento", "forma"),
    "idws": ("id", "id interno", "guid", "uuid"),
    "nomeComercial": (
        *("razao social", "nome", "name", "apelido", "cliente", "nome do cliente", "fornecedor"),
        *("nome do fornecedor", "razao social do cliente", "razao social do fornecedor"),
        *("customer", "customer name", "client name", "supplier", "supplier name", "vendor"),
    ),
    "cnpj": ("documento", "cnpj cpf", "cpf cnpj"),
    "cpf": ("documento",),
    "seuCodigo": ("codigo", "cliente", "parceiro", "matricula", "cod empresa", "id"),
    "telefone": ("contato",),
    "codigoDaSecao": ("rua", "local", "endereco estoque"),
    "valorDoServico": ("total", "valor total", "preco"),
    "ativo": ("status", "situacao"),
    "idProd": ("codigo", "id"),
    "dataDaEntrada": ("data", "data da nota", "data de emissao", "emissao"),
    "documento": ("numero", "pedido"),
    "valorLimite": ("valor", "total", "previsto"),
    "nome": ("nome", "responsavel"),
    "aliquotaISSRetido": ("aliquota", "iss retido"),
    "observacao": ("observacao", "historico"),
    "descricaoDoProduto": ("descricao", "nome", "item"),
    "codigoInterno": ("codigo", "cod fabricante", "id"),
    "valorUnitario": ("preco", "custo unitario", "custo medio", "valor"),
    "descricaoDoCentroDeCusto": ("descricao", "nome", "centro de custo", "departamento"),
    "descricaoDoTipoDeProduto": ("descricao", "nome", "tipo de produto"),
    "descricaoDoTipoDeCliente": ("descricao", "nome", "tipo de cliente"),
    "descricaoDaCategoriaDeCliente": ("descricao", "nome", "categoria de cliente"),
}
PERSON_NAMES = frozenset(
    {"nome", "razao", "fantasia", "name", "apelido", "contato", "endereco", "cidade"}
)
"""Words of names, which are not codes."""
OTHER_THINGS = frozenset(
    {"pago", "paga", "pagamento", "baixa", "real", "saldo", "juros", "multa", "desconto"}
    | {"nascimento", "cadastro", "created", "updated", "situacao", "status", "nosso", "prorrogado"}
    | {"recebido", "recebimento", "abatimento", "quantidade", "cidade", "uf", "cep", "bairro"}
    | {"contagem", "contada", "contado", "inscricao", "estadual", "rg", "ie", "alteracao"}
    | {"inclusao", "descricao", "obs"}
)
"""Words that change the meaning of a header's other words."""


def mapping_words(header: str) -> Words:
    """Return the words of a header without abbreviations."""
    spaced = header.replace("_", " ").replace("/", " ").replace("-mail", "mail")
    words = frozenset(_SHORT_FORMS.get(word, word) for word in header_words(spaced))
    return words or (frozenset({"valor"}) if "$" in header else words)


@cache
def phrases(column: str) -> tuple[tuple[Words, bool], ...]:
    """Return the names of a column as words, with whether each is a usual one."""
    usual = [(mapping_words(name), True) for name in USUAL.get(column, ())]
    possible = [(mapping_words(name), False) for name in POSSIBLE.get(column, ())]
    return (*usual, *possible)


@cache
def vocabulary() -> frozenset[str]:
    """Return all words of the names of columns."""
    return frozenset(
        word
        for names in (USUAL, POSSIBLE)
        for column in names
        for words, _ in phrases(column)
        for word in words
    )


@cache
def _names_without_amounts() -> frozenset[Words]:
    """Return the names of columns that have no name with a word for an amount."""
    columns = ([words for words, _ in phrases(name)] for name in {*USUAL, *POSSIBLE})
    return frozenset(
        words for names in columns if not any(n & _AMOUNTS for n in names) for words in names
    )


_EARLIER = Text(
    pt="um mapeamento anterior usa este cabeçalho", en="an earlier mapping uses this header"
)
_OWN_NAME = Text(pt="é o nome da coluna", en="it is the column's own name")
_MISSPELT = Text(
    pt="é o nome da coluna com outra grafia", en="it is the column's name in another spelling"
)
_USUAL = Text(pt="é um nome usual da coluna", en="it is a usual name of the column")
_POSSIBLE = Text(
    pt="é um nome possível da coluna, mas também de outras coisas",
    en="it is a possible name of the column, but also of other things",
)
_ALIKE = Text(
    pt="tem as palavras de um nome usual da coluna", en="it has the words of a usual name"
)
_PART = Text(pt="é parte do nome da coluna", en="it is a part of the column's name")


COUNTED = frozenset({"quantidade", "contagem"})
"""Columns of quantities: a resource without one cannot fit a sheet with quantities."""


@dataclass(frozen=True, slots=True, order=True)
class NameFit:
    """Fit of a header to a column, from 0 to 1, and the reason."""

    score: float
    reason: Text


class NameMatcher:
    """Matcher of headers to the columns of a resource; ``earlier`` maps the keys of headers in
    confirmed mappings to columns."""

    def __init__(self, resource: Resource, earlier: Mapping[str, str]) -> None:
        self._names = resource.headers
        # Cached, as each header is compared with every column.
        self._match = cache(HeaderMatcher(resource, resource.by_name).match)
        self._earlier = earlier

    def fit(self, header: str, column: Column) -> NameFit | None:
        """Return the fit of a header to a column, None if it does not fit."""
        key = header_key(header)
        if self._earlier.get(key) == column.name:
            return NameFit(1.0, _EARLIER)
        if self._names.get(key) == column.name:
            return NameFit(0.98, _OWN_NAME)
        words = mapping_words(header)
        found = [
            fit for phrase, usual in phrases(column.name) if (fit := _fit(words, phrase, usual))
        ]
        match = self._match(header)
        if match is not None and match.column == column.name:
            found.append(NameFit(0.95, _MISSPELT) if match.is_certain else NameFit(0.62, _PART))
        best = max(found, key=lambda fit: fit.score, default=None)
        if best is None or best.score >= 0.9:
            return best
        return None if _is_other_thing(words, column) else best


@cache
def columns_called(header: str) -> frozenset[str]:
    """Return the columns of any resource that have the header as a usual name."""
    words = frozenset(word for word in mapping_words(header) if not word.isdecimal())
    return frozenset(
        column
        for column in USUAL
        if any(phrase <= words <= phrase | _FILLERS for phrase, usual in phrases(column) if usual)
    )


def _fit(words: Words, phrase: Words, usual: bool) -> NameFit | None:
    """Compare a header with one of a column's names: equal, equal except for words such as
    "código", or with additional words."""
    if words == phrase:
        # "ID" rather means the other system's own number than a code that people know.
        possible = 0.69 if words == {"id"} else 0.7
        return NameFit(0.92, _USUAL) if usual else NameFit(possible, _POSSIBLE)
    specific, expected = words - _FILLERS, phrase - _FILLERS
    if not expected or not specific:
        return None
    if specific == expected:
        return NameFit(0.88, _USUAL) if usual else NameFit(0.66, _POSSIBLE)
    if expected < specific:
        additional = len(specific) - len(expected)
        return NameFit((0.64 if usual else 0.5) - 0.05 * additional, _ALIKE)
    return None


def _is_other_thing(words: Words, column: Column) -> bool:
    """Return whether a header names something else that is related to the column."""
    names = {phrase for phrase, _ in phrases(column.name)}
    own_words = set().union(*names)
    if (words & OTHER_THINGS) - own_words:
        return True
    if column.kind in {Kind.MONEY, Kind.NUMBER}:
        # "Conta" is an account, not its amount; "documento" is a document, not its amount.
        if words in _names_without_amounts() - names:
            return True
    elif (words & _AMOUNTS) - own_words:
        return True
    if column.kind is not Kind.DATE and (words & _DATES) - own_words:
        return True
    return column.kind is not Kind.TEXT and bool((words & PERSON_NAMES) - own_words)
