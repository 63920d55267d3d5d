"""Words that tell what a row is: a total, a balance, a statistic, a footer, the title of a group.

A word alone decides nothing: "Média" may be a size, "Total Distribuidora" a company.
"""

import re
from enum import Enum
from functools import lru_cache

from xlbridge.resources import strip_accents


class RowWord(Enum):
    """Meaning of a cell's text for its row; the first one counts."""

    TOTAL = "a total or a balance"
    TOTAL_OF = "the total of something"
    STATISTIC = "a sum, an average, a count"
    NOTE = "a footer or a remark"
    LABEL = "the title of a group"
    LIKE_TOTAL = "a name that begins like a total"


_COUNTED = r"(?:clientes?|registros?|linhas?|itens|titulos?|notas|documentos|lancamentos|pedidos)\b"
_OF = r"(?:d[aeo]s?|em|por|n[ao]s?|ate|p/|para)\s"
_TIME = r"(?:dia|mes|periodo|ano|semana|exercicio)"
_WHICH = (
    r"(?:gera(?:l|is)|tota(?:l|is)|parcia(?:l|is)|fina(?:l|is)|inicia(?:l|is)|anterior(?:es)?|ant"
    r"|atua(?:l|is)|liquid[oa]s?|brut[oa]s?|acumulad[oa]s?|disponive(?:l|is)|bloquead[oa]s?"
    r"|conciliad[oa]s?|transportad[oa]s?|(?:d[ae]\s)?abertura|recebid[oa]s?|pag[oa]s?|vencid[oa]s?|pendentes?|abert[oa]s?|baixad[oa]s?"
    r"|a\s(?:receber|pagar|vencer|transportar)|entradas?|saidas?|creditos?|debitos?|receitas?"
    r"|despesas?|pagamentos?|recebimentos?|lancamentos?|diari[oa]|mensa(?:l|is)|anua(?:l|is)"
    rf"|(?:n?[do]?[ao]s?\s)?{_TIME}|(?:da\s)?pagina|(?:do\s)?grupo|em\s(?:conta|caixa|aberto|c/c)"
    rf"|(?:d[aeo]s?|por)\s(?:pagina|grupo|filial|conta|caixa|banco|{_COUNTED}|recebimentos?"
    r"|pagamentos?|entradas?|saidas?|contas?\s+a\s+(?:pagar|receber))"
    r"|(?:em|de|ate|a)?\s?\d{1,2}[/.-]\d{1,2}(?:[/.-]\d{2,4})?|(?:em\s)?r\$.*|\(.*\))"
)
_TAIL = rf"\s*(?:[:=].*|[-–—=>]*\s*\(?\d[\d./,]*\)?(?:\s+{_COUNTED})?|[a-z]{{3,9}}/\d{{2,4}})?"
_TOTAL = re.compile(
    rf"sub-?\s?tota(?:l|is)\b.*|(?:grand\s+)?tota(?:l|is)(?:\s+{_WHICH})*{_TAIL}|totalgeral"
    rf"|tota(?:l|is)\s+{_OF}[^:=]*[:=].*|tota(?:l|is)\s+{_COUNTED}.*"
    rf"|saldos?(?:\s+{_WHICH})*{_TAIL}|saldoanterior|(?:de\s+|a\s+)?transport(?:e|ar){_TAIL}"
    rf"|(?:qtde?\b\.?|quantidade|numero|contagem)(?:\s+(?:total|geral|{_OF}[^:=]*))?\s*[:=].*"
    rf"|contagem\s+(?:geral|{_OF}.*)"
    rf"|(?:somas?|valor|vlr?\.?)\s+(?:total|geral|acumulado)(?:\s+{_WHICH})*{_TAIL}"
    rf"|(?:tot|tt|sdo?)\.?(?:\s+{_WHICH})+{_TAIL}|s\.\s?ant(?:erior)?|totaliza(?:cao|dor)\b.*"
    r"|vem\s+d[ae]\s+(?:folha|pagina)\s+anterior"
)
_TOTAL_OF = re.compile(rf"(?:tota(?:l|is)|saldos?)\s+(?:{_OF}.*)")
_STATISTIC = re.compile(
    r"(?:somas?|somatori[oa]|medi[ao]|contagem|maxim[oa]|minim[oa]|sum|average|count|qtde?\.?"
    r"|quantidade|numero|acumulad[oa]|resultado|resumo|apuracao|tot\.?)"
    rf"(?:\s+(?:geral|total|{_OF}.*|{_WHICH}))*\s*(?:[:=].*)?"
)
_LIKE_TOTAL = re.compile(r"(?:grand\s+)?tota(?:l|is)\b.*")
_NOTE = re.compile(
    r"(?:obs\b|observac(?:ao|oes)\b|notas?\s*:|fonte\s*:|(?:pag(?:ina|\.)?|folha)\s*:?\s*\d|\(?\*+\)?\s"
    r"|(?:emitid|gerad|impress|atualizad|extraid|exportad|consultad|processad)[oa]s?\s+"
    r"(?:em|por|as|via|pelo|pela|no|na|de)\b"
    r"|fim\b(?:\s+d[aeo]s?\b|\s*$)|fina[li]\w*\s+d[aeo]s?\s+(?:relatorio|arquivo|lista)|relatorio\b"
    r"|\(?continua\b|(?:elaborad|conferid|aprovad)[oa]\s+por\b"
    rf"|(?:foram\s+)?(?:encontrad|listad)[oa]s\s+\d[\d.]*\s+{_COUNTED}"
    rf"|\d[\d.]*\s+{_COUNTED}|(?:total|numero|n[o.]?|qtde?\.?|quantidade)\s+d[aeo]s?\s+{_COUNTED})"
    r".*"
)
_LABEL = re.compile(
    r"[a-z][^:=]{0,30}[:=]\s*\S.*"
    r"|(?:vendedor|filial|grupo|subgrupo|regiao|rota|categoria|cidade|empresa|conta|banco|agencia"
    r"|centro de custo|tipo|setor|carteira|cliente|fornecedor|loja|departamento|familia|portador"
    r"|periodo|mes|dia|data|plano de contas)(?:a|es|s)?\b\s*(?:[-–#.]|n[o.])?\s*\d.*"
)
_DECORATION = " \t-=–—>*_.:<#|~»«•·"
_SPACED = re.compile(r"\w(?: \w)+")
_FEWEST_LETTERS = 4


@lru_cache(maxsize=4096)
def row_word(text: str) -> RowWord | None:
    """Return what a text says about its row, None if nothing."""
    stripped = text.strip()
    bare = strip_accents(stripped.strip(_DECORATION)).casefold()
    letters = _SPACED.match(bare)
    if letters and len(letters[0]) > 2 * _FEWEST_LETTERS - 2:
        # T O T A L  G E R A L: two spaces separate words, one separates letters.
        words = re.split(r"\s{2,}", bare)
        bare = " ".join(re.sub(r"(?<=\b\w) (?=\w\b)", "", word) for word in words)
        bare = bare.strip(_DECORATION)
    plain = strip_accents(stripped).casefold()
    found = {
        RowWord.TOTAL: _TOTAL.fullmatch(bare),
        RowWord.TOTAL_OF: _TOTAL_OF.fullmatch(bare),
        RowWord.STATISTIC: _STATISTIC.fullmatch(bare),
        RowWord.NOTE: _NOTE.match(plain) or _NOTE.match(bare),
        RowWord.LABEL: _LABEL.fullmatch(bare),
        RowWord.LIKE_TOTAL: _LIKE_TOTAL.fullmatch(bare),
    }
    return next((word for word, match in found.items() if match), None)


def is_total(text: str) -> bool:
    """Return whether a text marks its row as a total."""
    return row_word(text) in {RowWord.TOTAL, RowWord.TOTAL_OF}


HINTS = (
    *("tota", "saldo", "t o t", "s a l", "transport", "tot.", "a anterior"),
    *("s.ant", "s. ant", "sd. ", "sdo", "tt g", "tt. g"),
)
"""Parts that the text of every total or balance has, in small letters: a quick test of many."""
