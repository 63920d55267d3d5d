"""Findings about numbers, dates and missing values."""

from xlbridge.i18n import Text
from xlbridge.resources.findings.finding import FindingKind, error, warning

_SHOW_DATE = Text(
    pt="Dê à célula um formato com dia, mês e ano, e confira a data.",
    en="Give the cell a format with day, month and year, and check the date.",
)

VALUE_FINDINGS: tuple[FindingKind, ...] = (
    error(
        "required-missing",
        Text(pt="Falta o valor, que é obrigatório.", en="The value is missing; it is required."),
        Text(pt="Preencha a célula.", en="Fill in the cell."),
    ),
    error(
        "type-integer",
        Text(pt="Não é um número inteiro{why}.", en="This is not a whole number{why}."),
        Text(pt="Digite só algarismos, como 12.", en="Type digits only, such as 12."),
    ),
    error(
        "type-number",
        Text(pt="Não é um número{why}.", en="This is not a number{why}."),
        Text(pt="Digite um número, como 1234,56.", en="Type a number, such as 1234.56."),
    ),
    error(
        "type-date",
        Text(pt="Não é uma data{why}.", en="This is not a date{why}."),
        Text(
            pt="Digite uma data, como 31/12/2026.",
            en="Type a date, such as 31/12/2026.",
        ),
    ),
    error(
        "type-boolean",
        Text(pt="Não é verdadeiro nem falso.", en="This is neither true nor false."),
        Text(
            pt="Use VERDADEIRO ou FALSO (ou Sim e Não).",
            en="Use TRUE or FALSE (or Sim and Não).",
        ),
    ),
    error(
        "type-text",
        Text(
            pt="A célula deve ter um texto, mas tem {found}.",
            en="The cell must hold a text, but holds {found}.",
        ),
        Text(
            pt="Formate a célula como texto e digite de novo.",
            en="Format the cell as text and type it again.",
        ),
    ),
    error(
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
    error(
        "date-short-year",
        Text(pt="O ano tem só dois algarismos.", en="The year has only two digits."),
        Text(
            pt="Escreva o ano com quatro algarismos; até 49, basta declarar a ordem com --dates.",
            en="Write the year with four digits; up to 49 it is enough to declare the order with "
            "--dates.",
        ),
    ),
    error(
        "date-serial",
        Text(
            pt="A célula tem formato de data, mas guarda um número pequeno demais para ser uma "
            "data (aparece como {shown}).",
            en="The cell has the format of a date but stores a number too small to be one "
            "(shown as {shown}).",
        ),
        Text(pt="Digite a data de novo.", en="Type the date again."),
    ),
    warning(
        "date-implausible",
        Text(pt="A data é incomum: {shown}.", en="The date is unusual: {shown}."),
        Text(pt="Confira o ano.", en="Check the year."),
    ),
    warning(
        "dates-swapped",
        Text(
            pt="Dia e mês podem estar trocados: {dates} {dates:data da coluna tem|datas da coluna "
            "têm} dia até 12, e {texts} {texts:que ficou como texto tem|que ficaram como texto "
            "têm} dia acima de 12.",
            en="Day and month may be swapped: {dates} {dates:date of the column has|dates of the "
            "column have} a day up to 12, and {texts} that stayed text {texts:has|have} a day "
            "above 12.",
        ),
        Text(
            pt="Compare com a origem; se estiverem trocados, importe-a de novo e informe que a "
            "coluna tem datas na ordem dia, mês, ano.",
            en="Compare with the source; if they are swapped, import it again and specify the "
            "order of day, month and year in the column.",
        ),
    ),
    warning(
        "date-has-time",
        Text(
            pt="A célula tem data e hora; só a data será enviada.",
            en="The cell holds a date and a time; only the date will be sent.",
        ),
        Text(pt="Deixe só a data na célula.", en="Leave only the date in the cell."),
    ),
    error(
        "date-not-shown",
        Text(
            pt="A célula não mostra a data que guarda, {stored}, que seria enviada.",
            en="The cell does not show the date that it stores, {stored}, which would be sent.",
        ),
        _SHOW_DATE,
    ),
    warning(
        "date-shown-in-part",
        Text(
            pt="A célula mostra só {shown} da data; será enviada {stored}.",
            en="The cell shows only {shown} of its date; {stored} is sent.",
        ),
        _SHOW_DATE,
    ),
    error(
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
    warning(
        "number-as-text",
        Text(
            pt="O número está gravado como texto; será lido como {read}.",
            en="The number is stored as text; it is read as {read}.",
        ),
        Text(
            pt="Converta a célula em número para não depender da interpretação do texto.",
            en="Convert the cell to a number, so that its value does not depend on how the text "
            "is read.",
        ),
    ),
    warning(
        "date-as-text",
        Text(
            pt="A data está gravada como texto; será lida como {read}.",
            en="The date is stored as text; it is read as {read}.",
        ),
        Text(
            pt="Converta a célula em data para não depender da interpretação do texto.",
            en="Convert the cell to a date, so that its value does not depend on how the text is "
            "read.",
        ),
    ),
    error(
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
    warning(
        "number-scaled",
        Text(
            pt="A célula mostra {shown}, mas guarda {stored}, que é o que será enviado.",
            en="The cell shows {shown} but stores {stored}, which is what is sent.",
        ),
        Text(
            pt="Confira o valor, e formate a célula sem a divisão por mil.",
            en="Check the value, and format the cell without the division by a thousand.",
        ),
    ),
    error(
        "number-shown-otherwise",
        Text(
            pt="A célula mostra '{shown}', mas guarda o número {stored}, que seria enviado.",
            en="The cell shows '{shown}' but stores the number {stored}, which would be sent.",
        ),
        Text(
            pt="Dê à célula o formato Geral ou Número e confira o valor.",
            en="Give the cell the format General or Number, and check the value.",
        ),
    ),
    warning(
        "number-with-words",
        Text(
            pt="A célula mostra '{shown}'; só o número {stored} será enviado.",
            en="The cell shows '{shown}'; only the number {stored} is sent.",
        ),
        Text(
            pt="Confira se o número é o que a coluna pede, e dê à célula o formato Número.",
            en="Check that the number is what the column requires, and give the cell the format "
            "Number.",
        ),
    ),
    warning(
        "number-currency",
        Text(
            pt="A célula mostra {currency}, e a coluna é em reais: o número será enviado como "
            "está.",
            en="The cell shows {currency}, and the column is in reais: the number is sent as it "
            "is.",
        ),
        Text(
            pt="Converta o valor para reais, ou troque o formato da célula se ele já está em "
            "reais.",
            en="Convert the amount to reais, or change the cell's format if it is in reais "
            "already.",
        ),
    ),
)
