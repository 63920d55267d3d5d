"""Findings about texts, codes and cells without plain values; marks of invisible characters."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from xlbridge.i18n import Text
from xlbridge.resources.findings.finding import FindingKind, error, warning

_TYPE_AGAIN = Text(pt="Apague o texto e digite-o de novo.", en="Delete the text and type it again.")
_TYPE_CODE_AGAIN = Text(
    pt="Formate a célula como texto e digite o código de novo, do original.",
    en="Format the cell as text and type the code again, from its source.",
)

TEXT_FINDINGS: tuple[FindingKind, ...] = (
    error(
        "code-leading-zeros",
        Text(
            pt="O código está gravado como número e tem menos de {width} algarismos: "
            "zeros à esquerda podem ter se perdido{proposal}.",
            en="The code is stored as a number and has fewer than {width} digits: "
            "leading zeros may have been lost{proposal}.",
        ),
        Text(
            pt="Formate a célula como texto e digite o código com os zeros.",
            en="Format the cell as text and type the code with its zeros.",
        ),
    ),
    error(
        "code-shown-otherwise",
        Text(
            pt="O código está gravado como o número {stored}, que a célula mostra como '{shown}'.",
            en="The code is stored as the number {stored}, which the cell shows as '{shown}'.",
        ),
        Text(
            pt="Formate a célula como texto e digite o código como deve ser enviado.",
            en="Format the cell as text and type the code as it should be sent.",
        ),
    ),
    error(
        "text-shown-otherwise",
        Text(
            pt="A célula mostra '{shown}', mas guarda {stored}, que seria enviado.",
            en="The cell shows '{shown}' but stores {stored}, which would be sent.",
        ),
        Text(
            pt="Formate a célula como texto e digite o que deve ser enviado.",
            en="Format the cell as text and type what should be sent.",
        ),
    ),
    error(
        "code-digits-lost",
        Text(
            pt="O código está gravado como número e é longo demais: o Excel guarda só 15 "
            "algarismos.",
            en="The code is stored as a number and is too long: Excel keeps 15 digits only.",
        ),
        _TYPE_CODE_AGAIN,
    ),
    error(
        "code-scientific",
        Text(
            pt="O código está em notação científica: os algarismos do fim se perderam.",
            en="The code is in scientific notation: its last digits are lost.",
        ),
        _TYPE_CODE_AGAIN,
    ),
    error(
        "code-shape",
        Text(
            pt="O código não tem a forma dos outros da coluna, como {example}: zeros, pontos ou "
            "letras podem ter se perdido.",
            en="The code does not have the form of the others in the column, such as {example}: "
            "zeros, points or letters may have been lost.",
        ),
        Text(
            pt="Formate a célula como texto e digite o código como está na origem.",
            en="Format the cell as text and type the code as in its source.",
        ),
    ),
    error(
        "code-decimals",
        Text(
            pt="O código está escrito como um número com casas decimais; talvez seja {read}.",
            en="The code is written as a number with decimals; it may be {read}.",
        ),
        Text(
            pt="Digite o código como está na origem; zeros à esquerda também podem ter se perdido.",
            en="Type the code as in its source; leading zeros may have been lost as well.",
        ),
    ),
    warning(
        "code-spelling",
        Text(
            pt="O código só difere de {other}, na mesma coluna, em maiúsculas ou acentos; serão "
            "enviados dois códigos.",
            en="The code differs only in case or accents from {other}, in the same column; two "
            "codes are sent.",
        ),
        Text(
            pt="Se é o mesmo código, use uma só grafia.",
            en="If it is the same code, use one spelling.",
        ),
    ),
    warning(
        "code-spelling-across-sheets",
        Text(
            pt="O código só difere de {other}, em {first}, em maiúsculas ou acentos; serão "
            "enviados dois códigos.",
            en="The code differs only in case or accents from {other}, in {first}; two codes are "
            "sent.",
        ),
        Text(
            pt="Se é o mesmo código, use uma só grafia em todas as planilhas.",
            en="If it is the same code, use one spelling in all sheets.",
        ),
    ),
    warning(
        "code-form",
        Text(
            pt="O código está escrito de um modo incomum; será lido como {read}.",
            en="The code is written in an unusual way; it is read as {read}.",
        ),
        Text(
            pt="Escreva-o como {read}, com ou sem a máscara.",
            en="Write it as {read}, with or without its mask.",
        ),
    ),
    warning(
        "accents-apart",
        Text(
            pt="Os acentos estão gravados como caracteres separados das letras; será lido como "
            "{read}, com cada letra acentuada num só caractere.",
            en="The accents are stored as separate characters; the text is read as {read}, with "
            "each accented letter as one character.",
        ),
        _TYPE_AGAIN,
    ),
    error(
        "document-placeholder",
        Text(
            pt="{character} não é um documento: parece indicar que não há nenhum.",
            en="{character} is not a document: it seems to mean that there is none.",
        ),
        Text(
            pt="Deixe a célula vazia, se não há documento.",
            en="Leave the cell empty if there is no document.",
        ),
    ),
    error(
        "document-misplaced",
        Text(
            pt="Este número é um {kind}; o lugar certo é {place}.",
            en="This number is a {kind}; it belongs in {place}.",
        ),
        Text(
            pt="Passe o número para a coluna certa e confira a natureza.",
            en="Move the number to the right column, and check the nature.",
        ),
    ),
    warning(
        "text-placeholder",
        Text(
            pt="{character} parece indicar que não há valor, e será enviado como texto.",
            en="{character} seems to mean that there is no value, but is sent as text.",
        ),
        Text(
            pt="Deixe a célula vazia, se não há valor.",
            en="Leave the cell empty if there is no value.",
        ),
    ),
    error(
        "text-ditto",
        Text(
            pt="{character} parece repetir a célula de cima, mas seria enviado como texto.",
            en="{character} seems to repeat the cell above, but would be sent as text.",
        ),
        Text(pt="Copie o valor de cima para a célula.", en="Copy the value above into the cell."),
    ),
    warning(
        "text-apostrophe",
        Text(
            pt="O texto começa com um apóstrofo, que será enviado: {character}",
            en="The text begins with an apostrophe, which is sent: {character}",
        ),
        Text(
            pt="Apague o apóstrofo: o Excel só o ignora quando é digitado na célula.",
            en="Delete the apostrophe: Excel only ignores it when it is typed into the cell.",
        ),
    ),
    error(
        "character-lost",
        Text(
            pt="O texto perdeu um caractere quando o arquivo foi convertido (aparece �).",
            en="The text lost a character when the file was converted (� is shown).",
        ),
        Text(
            pt="Digite o texto de novo, ou abra o arquivo de origem na codificação certa.",
            en="Type the text again, or open the source file in the right encoding.",
        ),
    ),
    warning(
        "character-private",
        Text(
            pt="O texto tem um caractere que só uma fonte específica mostra ({character}); será "
            "enviado como está.",
            en="The text has a character that only a specific font displays ({character}); it is "
            "sent unchanged.",
        ),
        Text(
            pt="Troque-o por letras ou símbolos comuns.",
            en="Replace it with ordinary letters or symbols.",
        ),
    ),
    warning(
        "text-misread",
        Text(
            pt="O texto parece mal convertido de outro arquivo; talvez seja {read}.",
            en="The text seems badly converted from another file; it may be {read}.",
        ),
        Text(
            pt="Abra o arquivo de origem como UTF-8 e cole de novo, ou digite o texto.",
            en="Open the source file as UTF-8 and paste again, or type the text.",
        ),
    ),
    warning(
        "text-spaces",
        Text(
            pt="Há espaços no começo ou no fim do texto; não serão enviados.",
            en="There are spaces at the beginning or the end of the text; they are not sent.",
        ),
        Text(pt="Apague os espaços.", en="Delete the spaces."),
    ),
    warning(
        "invisible-character",
        Text(
            pt="O texto tem um caractere invisível ({character}), que não será enviado.",
            en="The text has an invisible character ({character}), which is not sent.",
        ),
        _TYPE_AGAIN,
    ),
    warning(
        "look-alike-letter",
        Text(
            pt="O texto tem uma letra de outro alfabeto que só parece latina ({character}).",
            en="The text has a letter of another alphabet that only looks Latin ({character}).",
        ),
        _TYPE_AGAIN,
    ),
    error(
        "cell-error",
        Text(
            pt="A célula mostra um erro do Excel ({error}).",
            en="The cell shows an Excel error ({error}).",
        ),
        Text(
            pt="Corrija a fórmula, ou digite o valor.",
            en="Correct the formula, or type the value.",
        ),
    ),
    error(
        "formula-no-value",
        Text(
            pt="A célula tem uma fórmula sem resultado gravado.",
            en="The cell has a formula without a stored result.",
        ),
        Text(
            pt="Abra o arquivo no Excel, recalcule e salve; ou cole o valor.",
            en="Open the workbook in Excel, recalculate and save; or paste the value.",
        ),
    ),
    error(
        "hidden-character",
        Text(
            pt="O texto tem um caractere invisível ou trocado ({character}).",
            en="The text has an invisible or look-alike character ({character}).",
        ),
        _TYPE_AGAIN,
    ),
    warning(
        "value-spelling",
        Text(
            pt="O valor difere do permitido em maiúsculas ou acentos; será lido como {read}.",
            en="The value differs from an allowed one in case or accents; it is read as {read}.",
        ),
        Text(pt="Escreva {read}.", en="Write {read}."),
    ),
)


@dataclass(frozen=True, slots=True)
class CharacterMark:
    """Sign that represents an invisible character, and the character's name."""

    sign: str
    name: Text | str


_MARKS: Mapping[str, CharacterMark] = {
    "\n": CharacterMark("↵", Text(pt="quebra de linha", en="line break")),
    "\r": CharacterMark("␍", Text(pt="retorno de carro", en="carriage return")),
    "\t": CharacterMark("⇥", Text(pt="tabulação", en="tab")),
}
_NAMELESS = Text(pt="caractere de controle", en="control character")
_OUTER_SPACE = CharacterMark(
    "·", Text(pt="espaço no começo ou no fim", en="space at the beginning or end")
)


def character_name(character: str) -> str:
    """Return the code point and Unicode name of a character."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()


def mark_invisible(text: str) -> Iterator[str | CharacterMark]:
    """Yield the visible parts of a text, with a mark for each invisible character and each space at
    its ends."""
    inner = text.strip(" ")
    before, _, after = text.partition(inner) if inner else (text, "", "")
    yield from [_OUTER_SPACE] * len(before)
    if inner.isprintable():
        yield from [inner] if inner else []
    else:
        for is_visible, characters in groupby(inner, str.isprintable):
            part = "".join(characters)
            yield from [part] if is_visible else map(mark_of, part)
    yield from [_OUTER_SPACE] * len(after)


def mark_of(character: str) -> CharacterMark:
    """Return the mark of an invisible character."""
    if unicodedata.category(character) == "Zs":
        return CharacterMark("␣", character_name(character))
    name = unicodedata.name(character, "") or _NAMELESS
    return _MARKS.get(character) or CharacterMark(f"⟨U+{ord(character):04X}⟩", name)


def show_invisible(text: str) -> str:
    """Replace each invisible character of a text by its sign."""
    return "".join(it.sign if isinstance(it, CharacterMark) else it for it in mark_invisible(text))
