"""Findings of the rules of a column."""

from xlbridge.i18n import Text
from xlbridge.resources.findings.finding import FindingKind, error, warning

RULE_FINDINGS: tuple[FindingKind, ...] = (
    error(
        "value-not-allowed",
        Text(
            pt="O valor não é um dos permitidos: {allowed}.",
            en="The value is not one of those allowed: {allowed}.",
        ),
        Text(pt="Escolha um valor da lista.", en="Choose a value from the list."),
    ),
    warning(
        "value-spelling",
        Text(
            pt="O valor difere do permitido em maiúsculas ou acentos; será lido como {read}.",
            en="The value differs from the allowed one in case or accents; it is read as {read}.",
        ),
        Text(pt="Escreva {read}.", en="Write {read}."),
    ),
    error(
        "value-range",
        Text(pt="O valor deve ser {bounds}.", en="The value must be {bounds}."),
        Text(pt="Confira o valor.", en="Check the value."),
    ),
    error(
        "text-length",
        Text(
            pt="O texto deve ter {bounds} caracteres; tem {found}.",
            en="The text must have {bounds} characters; it has {found}.",
        ),
        Text(pt="Confira o texto.", en="Check the text."),
    ),
    error(
        "decimal-places",
        Text(
            pt="O valor tem mais de {places} {places:casa decimal|casas decimais}.",
            en="The value has more than {places} decimal {places:place|places}.",
        ),
        Text(pt="Arredonde o valor.", en="Round the value."),
    ),
    error(
        "format",
        Text(pt="O valor não tem a forma {form}.", en="The value does not have the form {form}."),
        Text(pt="Confira o valor.", en="Check the value."),
    ),
    error(
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
    error(
        "cpf-invalid",
        Text(
            pt="O CPF não é válido (forma ou dígitos verificadores).",
            en="The CPF is not valid (form or check digits).",
        ),
        Text(pt="Confira o CPF no documento.", en="Check the CPF against the document."),
    ),
    error(
        "email-invalid",
        Text(pt="O e-mail não é válido.", en="The e-mail address is not valid."),
        Text(pt="Escreva-o como nome@empresa.com.br.", en="Write it as name@company.com.br."),
    ),
    error(
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
    error(
        "cep-invalid",
        Text(pt="O CEP não é válido.", en="The postcode (CEP) is not valid."),
        Text(
            pt="Escreva os oito algarismos, como 01310-100.",
            en="Write its eight digits, such as 01310-100.",
        ),
    ),
    error(
        "uf-invalid",
        Text(pt="Não é a sigla de um estado.", en="These are not the letters of a state."),
        Text(
            pt="Escreva a sigla em maiúsculas, como SP.",
            en="Write the letters in capitals, such as SP.",
        ),
    ),
    error(
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
    error(
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
    error(
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
    error(
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
    warning(
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
    error(
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
)
