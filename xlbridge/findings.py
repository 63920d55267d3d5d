"""What can be wrong in the data: the catalogue, and one occurrence of an entry of it.

A finding is returned, never raised. Its code is stable and English; its message and hint exist in
both languages and are rendered when they are shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum

from xlbridge.i18n import Text

Mended = str | Decimal | date
"""What a cell holds once it is put right."""


class Severity(StrEnum):
    """An error stops an upload; a warning is worth a look."""

    ERROR = "error"
    WARNING = "warning"


SEVERITY_WORDS: Mapping[Severity, Text] = {
    Severity.ERROR: Text(pt="Erro", en="Error"),
    Severity.WARNING: Text(pt="Aviso", en="Warning"),
}
"""What each severity is called in reports."""


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One entry of the catalogue.

    ``message`` and ``hint`` may hold placeholders, filled from a finding's ``details``.
    """

    code: str
    severity: Severity
    message: Text
    hint: Text


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong, and where.

    ``row`` and ``cell`` are the address in the analyst's own sheet, counted as Excel counts; both
    are None where the finding concerns no single place. ``value`` is the cell's content as text;
    ``mended`` what the cell should hold instead, None where that is not certain.
    """

    kind: FindingKind
    row: int | None = None
    column: str | None = None
    cell: str | None = None
    value: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    mended: Mended | None = None

    @property
    def message(self) -> Text:
        """What is wrong."""
        return self.kind.message.format(**self.details)

    @property
    def hint(self) -> Text:
        """What to do about it."""
        return self.kind.hint.format(**self.details)


def _error(code: str, message: Text, hint: Text) -> FindingKind:
    return FindingKind(code, Severity.ERROR, message, hint)


def _warning(code: str, message: Text, hint: Text) -> FindingKind:
    return FindingKind(code, Severity.WARNING, message, hint)


_KINDS = (
    _error(
        "sheet-empty",
        Text(pt="A planilha não tem linhas de dados.", en="The sheet has no data rows."),
        Text(
            pt="Preencha a planilha abaixo do cabeçalho.",
            en="Fill in the sheet below the header.",
        ),
    ),
    _error(
        "header-not-found",
        Text(
            pt="Nenhuma linha com os nomes das colunas de {resource} foi encontrada.",
            en="No row with the column names of {resource} was found.",
        ),
        Text(
            pt="Use o modelo: xlbridge template {resource}",
            en="Use the template: xlbridge template {resource}",
        ),
    ),
    _warning(
        "template-outdated",
        Text(
            pt="A pasta foi feita com outro modelo (leiaute {found}; o atual é {current}): "
            "{changes}.",
            en="The workbook was made from another template (layout {found}; the current one is "
            "{current}): {changes}.",
        ),
        Text(
            pt="Passe os dados para o modelo atual: xlbridge template {resource} --migrate ARQUIVO "
            "-o NOVO.xlsx",
            en="Move the data to the current template: xlbridge template {resource} --migrate FILE "
            "-o NEW.xlsx",
        ),
    ),
    _error(
        "column-missing",
        Text(
            pt="Falta a coluna obrigatória {column}.",
            en="The required column {column} is missing.",
        ),
        Text(
            pt="Acrescente ao cabeçalho uma coluna com o nome {column}.",
            en="Add a column named {column} to the header.",
        ),
    ),
    _error(
        "column-duplicate",
        Text(
            pt="A coluna {column} aparece mais de uma vez ({cells}).",
            en="The column {column} appears more than once ({cells}).",
        ),
        Text(
            pt="Deixe só uma; enquanto houver duas, nenhuma é lida.",
            en="Keep only one; while there are two, neither is read.",
        ),
    ),
    _error(
        "column-misspelt",
        Text(
            pt="A coluna {header!r} parece ser {column}.",
            en="The column {header!r} seems to be {column}.",
        ),
        Text(
            pt="Escreva {column} no cabeçalho, ou dê outro nome à coluna se for anotação sua.",
            en="Write {column} in the header, or rename the column if it is a note of your own.",
        ),
    ),
    _warning(
        "column-unknown",
        Text(
            pt="A coluna {header!r} não existe em {resource} e não será enviada.",
            en="The column {header!r} does not exist in {resource} and will not be sent.",
        ),
        Text(
            pt="Confira o nome, ou deixe assim se é só uma anotação sua.",
            en="Check the name, or leave it if it is a note of your own.",
        ),
    ),
    _warning(
        "column-unnamed",
        Text(
            pt="A coluna tem dados e não tem nome; não será enviada.",
            en="The column has data and no name; it will not be sent.",
        ),
        Text(
            pt="Dê à coluna o nome de um campo, ou deixe assim se é só uma anotação sua.",
            en="Give the column the name of a field, or leave it if it is a note of your own.",
        ),
    ),
    _warning(
        "column-hidden",
        Text(
            pt="A coluna está oculta e será enviada.", en="The column is hidden and will be sent."
        ),
        Text(
            pt="Mostre a coluna e confira o que há nela.",
            en="Unhide the column and check what is in it.",
        ),
    ),
    _warning(
        "rows-hidden",
        Text(
            pt="Há linhas ocultas com dados ({count}: {rows}); elas serão enviadas.",
            en="There are hidden rows with data ({count}: {rows}); they will be sent.",
        ),
        Text(
            pt="Mostre as linhas (ou tire o filtro) e confira, ou apague as que não devem ir.",
            en="Unhide the rows (or clear the filter) and check, or delete those that must not go.",
        ),
    ),
    _warning(
        "date-system-old",
        Text(
            pt="A pasta conta os dias desde 1904: datas coladas de outra ficam 4 anos adiante.",
            en="The workbook counts days from 1904: dates pasted from others are four years ahead.",
        ),
        Text(pt="Confira o ano das datas.", en="Check the year of the dates."),
    ),
    _error(
        "cells-merged",
        Text(
            pt="As células {range} estão mescladas: só a primeira tem valor, as outras, nenhum.",
            en="The cells {range} are merged: only the first holds a value, the others are empty.",
        ),
        Text(
            pt="Desfaça a mesclagem e preencha cada célula.",
            en="Unmerge them and fill in each cell.",
        ),
    ),
    _warning(
        "formula-result",
        Text(
            pt="A coluna tem fórmulas, a primeira aqui; será lido o resultado gravado por último.",
            en="The column has formulas, the first one here; the result stored last is read.",
        ),
        Text(
            pt="Recalcule e salve a pasta antes de enviar, ou cole os valores.",
            en="Recalculate and save the workbook before sending it, or paste the values.",
        ),
    ),
    _error(
        "required-missing",
        Text(pt="Falta o valor, que é obrigatório.", en="The value is missing; it is required."),
        Text(pt="Preencha a célula.", en="Fill in the cell."),
    ),
    _error(
        "required-when",
        Text(
            pt="Falta o valor, obrigatório quando {condition}.",
            en="The value is missing; it is required when {condition}.",
        ),
        Text(
            pt="Preencha a célula, ou corrija {condition_column}.",
            en="Fill in the cell, or correct {condition_column}.",
        ),
    ),
    _error(
        "not-before",
        Text(
            pt="A data é anterior à de {other}.",
            en="The date is earlier than that of {other}.",
        ),
        Text(pt="Confira as duas datas.", en="Check both dates."),
    ),
    _error(
        "net-exceeds-gross",
        Text(
            pt="O valor é maior que {other}.",
            en="The value is greater than {other}.",
        ),
        Text(pt="Confira os dois valores.", en="Check both values."),
    ),
    _error(
        "type-integer",
        Text(pt="Não é um número inteiro.", en="This is not a whole number."),
        Text(pt="Digite só algarismos, como 12.", en="Type digits only, such as 12."),
    ),
    _error(
        "type-number",
        Text(pt="Não é um número.", en="This is not a number."),
        Text(pt="Digite um número, como 1234,56.", en="Type a number, such as 1234.56."),
    ),
    _error(
        "type-date",
        Text(pt="Não é uma data.", en="This is not a date."),
        Text(
            pt="Digite uma data, como 31/12/2026.",
            en="Type a date, such as 31/12/2026.",
        ),
    ),
    _error(
        "type-boolean",
        Text(pt="Não é verdadeiro nem falso.", en="This is neither true nor false."),
        Text(
            pt="Use VERDADEIRO ou FALSO (ou Sim e Não).",
            en="Use TRUE or FALSE (or Sim and Não).",
        ),
    ),
    _error(
        "type-text",
        Text(
            pt="Aqui se espera texto, e a célula tem {found}.",
            en="Text is expected here, and the cell holds {found}.",
        ),
        Text(
            pt="Formate a célula como texto e digite de novo.",
            en="Format the cell as text and type it again.",
        ),
    ),
    _error(
        "date-ambiguous",
        Text(
            pt="A data é texto e pode ser {first} ou {second}.",
            en="The date is text and may be {first} or {second}.",
        ),
        Text(
            pt="Digite-a como data, ou declare a ordem com --dates dmy ou --dates mdy.",
            en="Type it as a date, or declare the order with --dates dmy or --dates mdy.",
        ),
    ),
    _error(
        "date-short-year",
        Text(pt="O ano tem só dois algarismos.", en="The year has only two digits."),
        Text(pt="Escreva o ano com quatro algarismos.", en="Write the year with four digits."),
    ),
    _error(
        "date-serial",
        Text(
            pt="A célula tem formato de data, mas guarda um número pequeno demais para ser uma "
            "data (aparece como {shown}).",
            en="The cell has the format of a date but stores a number too small to be one "
            "(shown as {shown}).",
        ),
        Text(pt="Digite a data de novo.", en="Type the date again."),
    ),
    _warning(
        "date-implausible",
        Text(
            pt="A data fica fora do comum: {shown}.",
            en="The date is out of the ordinary: {shown}.",
        ),
        Text(pt="Confira o ano.", en="Check the year."),
    ),
    _warning(
        "date-has-time",
        Text(
            pt="A célula tem data e hora; só a data será enviada.",
            en="The cell holds a date and a time; only the date will be sent.",
        ),
        Text(pt="Deixe só a data na célula.", en="Leave only the date in the cell."),
    ),
    _error(
        "number-ambiguous",
        Text(
            pt="O número é texto e pode ser {first} ou {second}.",
            en="The number is text and may be {first} or {second}.",
        ),
        Text(
            pt="Digite-o como número, ou declare a escrita com --numbers pt ou --numbers en.",
            en="Type it as a number, or declare the style with --numbers pt or --numbers en.",
        ),
    ),
    _warning(
        "number-as-text",
        Text(
            pt="O número está gravado como texto; será lido como {read}.",
            en="The number is stored as text; it is read as {read}.",
        ),
        Text(
            pt="Converta a célula em número para não depender da leitura.",
            en="Convert the cell to a number, so as not to depend on how it is read.",
        ),
    ),
    _warning(
        "date-as-text",
        Text(
            pt="A data está gravada como texto; será lida como {read}.",
            en="The date is stored as text; it is read as {read}.",
        ),
        Text(
            pt="Converta a célula em data para não depender da leitura.",
            en="Convert the cell to a date, so as not to depend on how it is read.",
        ),
    ),
    _error(
        "number-percent",
        Text(
            pt="A célula mostra {shown}, mas guarda {stored}: o valor seria enviado cem vezes "
            "menor.",
            en="The cell shows {shown} but stores {stored}: a value a hundred times smaller would "
            "be sent.",
        ),
        Text(
            pt="Formate a célula como número e digite o valor sem o sinal de porcentagem.",
            en="Format the cell as a number and type the value without the percent sign.",
        ),
    ),
    _error(
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
    _error(
        "code-digits-lost",
        Text(
            pt="O código está gravado como número e é longo demais: o Excel guarda só 15 "
            "algarismos.",
            en="The code is stored as a number and is too long: Excel keeps 15 digits only.",
        ),
        Text(
            pt="Formate a célula como texto e digite o código de novo, do original.",
            en="Format the cell as text and type the code again, from its source.",
        ),
    ),
    _error(
        "code-scientific",
        Text(
            pt="O código está em notação científica: os algarismos do fim se perderam.",
            en="The code is in scientific notation: its last digits are lost.",
        ),
        Text(
            pt="Formate a célula como texto e digite o código de novo, do original.",
            en="Format the cell as text and type the code again, from its source.",
        ),
    ),
    _warning(
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
    _warning(
        "text-spaces",
        Text(
            pt="Há espaços no começo ou no fim do texto; não serão enviados.",
            en="There are spaces at the beginning or the end of the text; they are not sent.",
        ),
        Text(pt="Apague os espaços.", en="Delete the spaces."),
    ),
    _warning(
        "invisible-character",
        Text(
            pt="O texto tem um caractere invisível ({character}), que não será enviado.",
            en="The text holds an invisible character ({character}), which is not sent.",
        ),
        Text(
            pt="Apague o texto e digite-o de novo.",
            en="Delete the text and type it again.",
        ),
    ),
    _warning(
        "look-alike-letter",
        Text(
            pt="O texto tem uma letra de outro alfabeto que só parece latina ({character}).",
            en="The text holds a letter of another alphabet that only looks Latin ({character}).",
        ),
        Text(
            pt="Apague o texto e digite-o de novo.",
            en="Delete the text and type it again.",
        ),
    ),
    _error(
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
    _error(
        "formula-no-value",
        Text(
            pt="A célula tem uma fórmula sem resultado gravado.",
            en="The cell holds a formula with no stored result.",
        ),
        Text(
            pt="Abra a pasta no Excel, recalcule e salve; ou cole o valor.",
            en="Open the workbook in Excel, recalculate and save; or paste the value.",
        ),
    ),
    _error(
        "hidden-character",
        Text(
            pt="O texto tem um caractere invisível ou trocado ({character}).",
            en="The text holds an invisible or look-alike character ({character}).",
        ),
        Text(
            pt="Apague o texto e digite-o de novo.",
            en="Delete the text and type it again.",
        ),
    ),
    _error(
        "value-not-allowed",
        Text(
            pt="O valor não é um dos permitidos: {allowed}.",
            en="The value is not one of those allowed: {allowed}.",
        ),
        Text(pt="Escolha um valor da lista.", en="Choose a value from the list."),
    ),
    _warning(
        "value-spelling",
        Text(
            pt="O valor difere do permitido em maiúsculas ou acentos; será lido como {read}.",
            en="The value differs from the allowed one in case or accents; it is read as {read}.",
        ),
        Text(pt="Escreva {read}.", en="Write {read}."),
    ),
    _error(
        "value-range",
        Text(pt="O valor deve ser {bounds}.", en="The value must be {bounds}."),
        Text(pt="Confira o valor.", en="Check the value."),
    ),
    _error(
        "text-length",
        Text(
            pt="O texto deve ter {bounds} caracteres; tem {found}.",
            en="The text must have {bounds} characters; it has {found}.",
        ),
        Text(pt="Confira o texto.", en="Check the text."),
    ),
    _error(
        "decimal-places",
        Text(
            pt="O valor tem mais de {places} casas decimais.",
            en="The value has more than {places} decimal places.",
        ),
        Text(pt="Arredonde o valor.", en="Round the value."),
    ),
    _error(
        "format",
        Text(pt="O valor não tem a forma {form}.", en="The value does not have the form {form}."),
        Text(pt="Confira o valor.", en="Check the value."),
    ),
    _error(
        "cnpj-invalid",
        Text(
            pt="O CNPJ não é válido (forma ou dígitos verificadores).",
            en="The CNPJ is not valid (form or check digits).",
        ),
        Text(
            pt="Confira o CNPJ no documento; letras são aceitas desde julho de 2026.",
            en="Check the CNPJ against the document; letters are accepted since July 2026.",
        ),
    ),
    _error(
        "cpf-invalid",
        Text(
            pt="O CPF não é válido (forma ou dígitos verificadores).",
            en="The CPF is not valid (form or check digits).",
        ),
        Text(pt="Confira o CPF no documento.", en="Check the CPF against the document."),
    ),
    _error(
        "email-invalid",
        Text(pt="O e-mail não é válido.", en="The e-mail address is not valid."),
        Text(pt="Escreva-o como nome@empresa.com.br.", en="Write it as name@company.com.br."),
    ),
    _error(
        "barcode-invalid",
        Text(
            pt="O código de barras do boleto não é válido (tamanho ou dígitos verificadores).",
            en="The bank-slip barcode is not valid (length or check digits).",
        ),
        Text(
            pt="Copie os 44 algarismos do código ou os 47 da linha digitável, como texto.",
            en="Copy the 44 digits of the barcode or the 47 of the typed line, as text.",
        ),
    ),
    _error(
        "cep-invalid",
        Text(pt="O CEP não é válido.", en="The postcode (CEP) is not valid."),
        Text(
            pt="Escreva os oito algarismos, como 01310-100.",
            en="Write its eight digits, such as 01310-100.",
        ),
    ),
    _error(
        "uf-invalid",
        Text(pt="Não é a sigla de um estado.", en="These are not the letters of a state."),
        Text(
            pt="Escreva a sigla em maiúsculas, como SP.",
            en="Write the letters in capitals, such as SP.",
        ),
    ),
    _error(
        "ncm-invalid",
        Text(
            pt="O código NCM não é válido (oito algarismos, capítulo existente).",
            en="The NCM code is not valid (eight digits, a chapter that there is).",
        ),
        Text(
            pt="Confira o código na tabela NCM, como 8471.30.12.",
            en="Check the code against the NCM table, such as 8471.30.12.",
        ),
    ),
    _error(
        "nbs-invalid",
        Text(
            pt="O código NBS não é válido (nove algarismos, começa com 1, capítulo existente).",
            en="The NBS code is not valid (nine digits, begins with 1, a chapter that there is).",
        ),
        Text(
            pt="Confira o código na tabela NBS, como 1.1502.10.00.",
            en="Check the code against the NBS table, such as 1.1502.10.00.",
        ),
    ),
    _error(
        "municipality-invalid",
        Text(
            pt="O código IBGE do município não é válido (estado ou dígito verificador).",
            en="The IBGE code of the municipality is not valid (state or check digit).",
        ),
        Text(
            pt="Confira o código de sete algarismos, como 3550308.",
            en="Check the code of seven digits, such as 3550308.",
        ),
    ),
    _error(
        "access-key-invalid",
        Text(
            pt="A chave de acesso não é válida (tamanho, emitente ou dígito verificador).",
            en="The access key is not valid (length, issuer or check digit).",
        ),
        Text(
            pt="Copie os 44 símbolos da nota, como texto.",
            en="Copy the 44 symbols from the invoice, as text.",
        ),
    ),
    _warning(
        "phone-doubtful",
        Text(
            pt="Não parece um telefone com DDD.",
            en="This does not look like a telephone number with its area code.",
        ),
        Text(
            pt="Escreva-o como (11) 98765-4321, ou com + e o código do país.",
            en="Write it as (11) 98765-4321, or with + and the country code.",
        ),
    ),
    _error(
        "sum-exceeds-gross",
        Text(
            pt="O valor, somado a {columns}, é maior que {other}.",
            en="The value, added to {columns}, is greater than {other}.",
        ),
        Text(
            pt="Confira os valores retidos e o valor bruto.",
            en="Check the retained amounts and the gross amount.",
        ),
    ),
    _error(
        "duplicate-in-sheet",
        Text(
            pt="O valor se repete nesta planilha (primeira vez em {first}).",
            en="The value is repeated in this sheet (first in {first}).",
        ),
        Text(
            pt="Deixe só uma das linhas, ou corrija o valor.",
            en="Keep only one of the rows, or correct the value.",
        ),
    ),
    _error(
        "reference-unknown",
        Text(pt="O código não existe: {registry}.", en="The code is not among {registry}."),
        Text(
            pt="Confira o código, ou cadastre-o no sistema antes de enviar.",
            en="Check the code, or register it in the system before the upload.",
        ),
    ),
    _error(
        "reference-inactive",
        Text(
            pt="O código existe, mas está inativo: {registry}.",
            en="The code is among {registry}, and inactive.",
        ),
        Text(
            pt="Use um código ativo, ou reative este no sistema.",
            en="Use an active code, or activate this one in the system.",
        ),
    ),
    _warning(
        "reference-unproven",
        Text(
            pt="Não se sabe se o código existe: {registry} não veio inteiro.",
            en="It is not known whether the code exists: of {registry} not all could be read.",
        ),
        Text(pt="Confira o código no sistema.", en="Look the code up in the system."),
    ),
    _error(
        "already-registered",
        Text(
            pt="O sistema já tem este registro ({code}) e recusaria a linha.",
            en="The system has this record already ({code}) and would refuse the row.",
        ),
        Text(
            pt="Tire a linha, ou corrija o documento.",
            en="Take the row out, or correct the document.",
        ),
    ),
    _warning(
        "record-exists",
        Text(
            pt="O sistema já tem um registro com esta chave ({code}); {effect}.",
            en="The system has a record with this key already ({code}); {effect}.",
        ),
        Text(pt="Confira se é isso que se quer.", en="Check that this is what is wanted."),
    ),
)

CATALOGUE: dict[str, FindingKind] = {kind.code: kind for kind in _KINDS}
"""Every kind of finding, by its code."""
