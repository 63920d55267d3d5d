"""Findings about cells: numbers, dates, missing values, texts."""

from xlbridge.i18n import Text
from xlbridge.resources.findings import FindingKind, error, warning

_TYPE_AGAIN = Text(pt="Apague o texto e digite-o de novo.", en="Delete the text and type it again.")
_TYPE_CODE_AGAIN = Text(
    pt="Formate a célula como texto e digite o código de novo, do original.",
    en="Format the cell as text and type the code again, from its source.",
)
_SHOW_DATE = Text(
    pt="Dê à célula um formato com dia, mês e ano, e confira a data.",
    en="Give the cell a format with day, month and year, and check the date.",
)

CELL_FINDINGS: tuple[FindingKind, ...] = (
    error(
        "required-missing",
        pt="Falta o valor, que é obrigatório.",
        en="The value is missing; it is required.",
        hint_pt="Preencha a célula.",
        hint_en="Fill in the cell.",
    ),
    error(
        "record-number-missing",
        pt="Falta o número do registro, que une as planilhas desta exportação.",
        en="The record's number, which joins the sheets of this export, is missing.",
        hint_pt="Digite o número. Registros novos vão numa planilha de importação: xlbridge "
        "template {resource}",
        hint_en="Enter the number. New records go into an import sheet: xlbridge template "
        "{resource}",
    ),
    error(
        "new-record-lacks",
        pt="A linha {row} não tem o número do registro, e para incluí-la falta este valor.",
        en="Row {row} does not have the record's number, and lacks this value to be created.",
        hint_pt="Preencha-o nessa linha, acrescentando a coluna se não existir. Registros novos "
        "cabem numa planilha de importação: xlbridge template {resource}",
        hint_en="Fill it in there, in a new column if there is none. New records go into an import "
        "sheet: xlbridge template {resource}",
    ),
    error(
        "record-again",
        pt="O registro está em outra linha acima.",
        en="The record is in another row above.",
        hint_pt="Deixe só uma das linhas. Uma exportação com --flat, que tem uma linha por item, "
        "não volta: exporte sem --flat.",
        hint_en="Keep only one of the rows. An export with --flat, which has a row for each item, "
        "cannot be sent back: export without --flat.",
    ),
    error(
        "type-integer",
        pt="Não é um número inteiro{why}.",
        en="This is not a whole number{why}.",
        hint_pt="Digite só algarismos, como 12.",
        hint_en="Type digits only, such as 12.",
    ),
    error(
        "type-number",
        pt="Não é um número{why}.",
        en="This is not a number{why}.",
        hint_pt="Digite um número, como 1234,56.",
        hint_en="Type a number, such as 1234.56.",
    ),
    error(
        "type-date",
        pt="Não é uma data{why}.",
        en="This is not a date{why}.",
        hint_pt="Digite uma data, como 31/12/2026.",
        hint_en="Type a date, such as 31/12/2026.",
    ),
    error(
        "type-boolean",
        pt="Não é verdadeiro nem falso.",
        en="This is neither true nor false.",
        hint_pt="Use VERDADEIRO ou FALSO (ou Sim e Não).",
        hint_en="Use TRUE or FALSE (or Sim and Não).",
    ),
    error(
        "type-text",
        pt="A célula deve ter um texto, mas tem {found}.",
        en="The cell must hold a text, but holds {found}.",
        hint_pt="Formate a célula como texto e digite de novo.",
        hint_en="Format the cell as text and type it again.",
    ),
    error(
        "date-ambiguous",
        pt="A data é texto e pode ser {first} ou {second}.",
        en="The date is text and may be {first} or {second}.",
        hint_pt="Digite-a como data, ou declare a ordem com --dates dmy ou --dates mdy.",
        hint_en="Type it as a date, or declare the order with --dates dmy or --dates mdy.",
    ),
    error(
        "date-short-year",
        pt="O ano tem só dois algarismos.",
        en="The year has only two digits.",
        hint_pt="Escreva o ano com quatro algarismos; até 49, basta declarar a ordem com --dates.",
        hint_en="Write the year with four digits; up to 49 it is enough to declare the order with "
        "--dates.",
    ),
    error(
        "date-serial",
        pt="A célula tem formato de data, mas guarda um número pequeno demais para ser uma "
        "data (aparece como {shown}).",
        en="The cell has the format of a date but stores a number too small to be one "
        "(shown as {shown}).",
        hint_pt="Digite a data de novo.",
        hint_en="Type the date again.",
    ),
    warning(
        "date-implausible",
        pt="A data é incomum: {shown}.",
        en="The date is unusual: {shown}.",
        hint_pt="Confira o ano.",
        hint_en="Check the year.",
    ),
    warning(
        "dates-swapped",
        pt="Dia e mês podem estar trocados: {dates} {dates:data da coluna tem|datas da coluna "
        "têm} dia até 12, e {texts} {texts:que ficou como texto tem|que ficaram como texto "
        "têm} dia acima de 12.",
        en="Day and month may be swapped: {dates} {dates:date of the column has|dates of the "
        "column have} a day up to 12, and {texts} that stayed text {texts:has|have} a day "
        "above 12.",
        hint_pt="Compare com a origem; se estiverem trocados, importe-a de novo e informe que a "
        "coluna tem datas na ordem dia, mês, ano.",
        hint_en="Compare with the source; if they are swapped, import it again and specify the "
        "order of day, month and year in the column.",
    ),
    warning(
        "date-order-of-sheet",
        pt="A data é texto e tem duas leituras; será lida como {read}, na ordem das datas da "
        "coluna {column}.",
        en="The date is text and has two readings; it is read as {read}, in the order of the "
        "dates in the column {column}.",
        hint_pt="Confira uma delas na origem, ou declare a ordem com --dates dmy ou --dates mdy.",
        hint_en="Compare one of them with the source, or declare the order with --dates dmy or "
        "--dates mdy.",
    ),
    warning(
        "dates-before-midnight",
        pt="A hora {time} em toda a coluna mostra que um programa tirou {lost} segundos das "
        "datas; é lida como o dia seguinte, {read}.",
        en="The time {time} in the whole column shows that a program took {lost} seconds off "
        "the dates; it is read as the next day, {read}.",
        hint_pt="Compare uma delas com a origem.",
        hint_en="Compare one of them with the source.",
        of_column=True,
    ),
    warning(
        "date-has-time",
        pt="A célula tem data e hora; só a data será enviada.",
        en="The cell holds a date and a time; only the date will be sent.",
        hint_pt="Deixe só a data na célula.",
        hint_en="Leave only the date in the cell.",
        of_column=True,
    ),
    error(
        "date-not-shown",
        pt="A célula não mostra a data que guarda, {stored}, que seria enviada.",
        en="The cell does not show the date that it stores, {stored}, which would be sent.",
        hint_pt=_SHOW_DATE.pt,
        hint_en=_SHOW_DATE.en,
    ),
    warning(
        "date-shown-in-part",
        pt="A célula mostra só {shown} da data; será enviada {stored}.",
        en="The cell shows only {shown} of its date; {stored} is sent.",
        hint_pt=_SHOW_DATE.pt,
        hint_en=_SHOW_DATE.en,
    ),
    error(
        "number-ambiguous",
        pt="O número é texto e pode ser {first} ou {second}.",
        en="The number is text and may be {first} or {second}.",
        hint_pt="Digite-o como número, ou declare a escrita com --numbers pt ou --numbers en.",
        hint_en="Type it as a number, or declare the style with --numbers pt or --numbers en.",
    ),
    warning(
        "number-as-text",
        pt="O número está gravado como texto; será lido como {read}.",
        en="The number is stored as text; it is read as {read}.",
        hint_pt="Converta a célula em número para não depender da interpretação do texto.",
        hint_en="Convert the cell to a number, so that its value does not depend on how the text "
        "is read.",
    ),
    warning(
        "date-as-text",
        pt="A data está gravada como texto; será lida como {read}.",
        en="The date is stored as text; it is read as {read}.",
        hint_pt="Converta a célula em data para não depender da interpretação do texto.",
        hint_en="Convert the cell to a date, so that its value does not depend on how the text is "
        "read.",
    ),
    error(
        "number-percent",
        pt="A célula mostra {shown}, mas guarda {stored}: o valor seria enviado cem vezes menor.",
        en="The cell shows {shown} but stores {stored}: a value a hundred times smaller would "
        "be sent.",
        hint_pt="Formate a célula como número e digite o valor sem o sinal de porcentagem.",
        hint_en="Format the cell as a number and type the value without the percent sign.",
    ),
    warning(
        "number-scaled",
        pt="A célula mostra {shown}, mas guarda {stored}, que é o que será enviado.",
        en="The cell shows {shown} but stores {stored}, which is what is sent.",
        hint_pt="Confira o valor, e formate a célula sem a divisão por mil.",
        hint_en="Check the value, and format the cell without the division by a thousand.",
    ),
    error(
        "number-shown-otherwise",
        pt="A célula mostra '{shown}', mas guarda o número {stored}, que seria enviado.",
        en="The cell shows '{shown}' but stores the number {stored}, which would be sent.",
        hint_pt="Dê à célula o formato Geral ou Número e confira o valor.",
        hint_en="Give the cell the format General or Number, and check the value.",
    ),
    warning(
        "number-with-words",
        pt="A célula mostra '{shown}'; só o número {stored} será enviado.",
        en="The cell shows '{shown}'; only the number {stored} is sent.",
        hint_pt="Confira se o número é o que a coluna pede, e dê à célula o formato Número.",
        hint_en="Check that the number is what the column requires, and give the cell the format "
        "Number.",
    ),
    warning(
        "number-shown-conditionally",
        pt="Com a formatação condicional a célula pode mostrar '{shown}'; será enviado {stored}.",
        en="By a conditional format the cell may show '{shown}'; {stored} is sent.",
        hint_pt="Confira o valor, e tire da formatação condicional o formato de número.",
        hint_en="Check the value, and remove the number format from the conditional format.",
        of_column=True,
    ),
    warning(
        "number-currency",
        pt="A célula mostra {currency}, e a coluna é em reais: o número será enviado como está.",
        en="The cell shows {currency}, and the column is in reais: the number is sent as it is.",
        hint_pt="Converta o valor para reais, ou troque o formato da célula se ele já está em "
        "reais.",
        hint_en="Convert the amount to reais, or change the cell's format if it is in reais "
        "already.",
    ),
    error(
        "code-leading-zeros",
        pt="O código está gravado como número e tem menos de {width} algarismos: "
        "zeros à esquerda podem ter se perdido{proposal}.",
        en="The code is stored as a number and has fewer than {width} digits: "
        "leading zeros may have been lost{proposal}.",
        hint_pt="Formate a célula como texto e digite o código com os zeros.",
        hint_en="Format the cell as text and type the code with its zeros.",
    ),
    error(
        "code-shown-otherwise",
        pt="O código está gravado como o número {stored}, que a célula mostra como '{shown}'.",
        en="The code is stored as the number {stored}, which the cell shows as '{shown}'.",
        hint_pt="Formate a célula como texto e digite o código como deve ser enviado.",
        hint_en="Format the cell as text and type the code as it should be sent.",
    ),
    error(
        "text-shown-otherwise",
        pt="A célula mostra '{shown}', mas guarda {stored}, que seria enviado.",
        en="The cell shows '{shown}' but stores {stored}, which would be sent.",
        hint_pt="Formate a célula como texto e digite o que deve ser enviado.",
        hint_en="Format the cell as text and type what should be sent.",
    ),
    error(
        "code-digits-lost",
        pt="O código está gravado como número e é longo demais: o Excel guarda só 15 algarismos.",
        en="The code is stored as a number and is too long: Excel keeps 15 digits only.",
        hint_pt=_TYPE_CODE_AGAIN.pt,
        hint_en=_TYPE_CODE_AGAIN.en,
    ),
    error(
        "code-scientific",
        pt="O código está em notação científica: os algarismos do fim se perderam.",
        en="The code is in scientific notation: its last digits are lost.",
        hint_pt=_TYPE_CODE_AGAIN.pt,
        hint_en=_TYPE_CODE_AGAIN.en,
        is_guess=True,
    ),
    warning(
        "code-shape",
        pt="O código não tem a forma dos outros da coluna, como {example}: zeros, pontos ou "
        "letras podem ter se perdido; será enviado assim.",
        en="The code does not have the form of the others in the column, such as {example}: "
        "zeros, points or letters may have been lost; it is sent as it is.",
        hint_pt="Compare com a origem. Se está certo, aceite: --accept {accepted}.",
        hint_en="Compare it with the source. If it is right, accept it: --accept {accepted}.",
        of_column=True,
    ),
    warning(
        "code-decimals",
        pt="O código está escrito como um número com casas decimais; talvez seja {read}. Será "
        "enviado como está.",
        en="The code is written as a number with decimals; it may be {read}. It is sent as it is.",
        hint_pt="Compare com a origem. Se está certo, aceite: --accept {accepted}.",
        hint_en="Compare it with the source. If it is right, accept it: --accept {accepted}.",
        of_column=True,
    ),
    warning(
        "code-spelling",
        pt="O código só difere de {other}, na mesma coluna, em maiúsculas ou acentos; serão "
        "enviados dois códigos.",
        en="The code differs only in case or accents from {other}, in the same column; two "
        "codes are sent.",
        hint_pt="Se é o mesmo código, use uma só grafia.",
        hint_en="If it is the same code, use one spelling.",
    ),
    warning(
        "code-spelling-across-sheets",
        pt="O código só difere de {other}, em {first}, em maiúsculas ou acentos; serão "
        "enviados dois códigos.",
        en="The code differs only in case or accents from {other}, in {first}; two codes are sent.",
        hint_pt="Se é o mesmo código, use uma só grafia em todas as planilhas.",
        hint_en="If it is the same code, use one spelling in all sheets.",
    ),
    warning(
        "code-form",
        pt="O código está escrito de um modo incomum; será lido como {read}.",
        en="The code is written in an unusual way; it is read as {read}.",
        hint_pt="Escreva-o como {read}, com ou sem a máscara.",
        hint_en="Write it as {read}, with or without its mask.",
    ),
    warning(
        "accents-apart",
        pt="Os acentos estão gravados como caracteres separados das letras; será lido como "
        "{read}, com cada letra acentuada num só caractere.",
        en="The accents are stored as separate characters; the text is read as {read}, with "
        "each accented letter as one character.",
        hint_pt=_TYPE_AGAIN.pt,
        hint_en=_TYPE_AGAIN.en,
    ),
    error(
        "document-placeholder",
        pt="{character} não é um documento: parece indicar que não há nenhum.",
        en="{character} is not a document: it seems to mean that there is none.",
        hint_pt="Deixe a célula vazia, se não há documento.",
        hint_en="Leave the cell empty if there is no document.",
    ),
    error(
        "document-misplaced",
        pt="Este número é um {kind}; o lugar certo é {place}.",
        en="This number is a {kind}; it belongs in {place}.",
        hint_pt="Passe o número para a coluna certa e confira a natureza.",
        hint_en="Move the number to the right column, and check the nature.",
    ),
    warning(
        "text-placeholder",
        pt="{character} parece indicar que não há valor, e será enviado como texto.",
        en="{character} seems to mean that there is no value, but is sent as text.",
        hint_pt="Deixe a célula vazia, se não há valor.",
        hint_en="Leave the cell empty if there is no value.",
    ),
    error(
        "text-ditto",
        pt="{character} parece repetir a célula de cima, mas seria enviado como texto.",
        en="{character} seems to repeat the cell above, but would be sent as text.",
        hint_pt="Copie o valor de cima para a célula.",
        hint_en="Copy the value above into the cell.",
        is_guess=True,
    ),
    warning(
        "text-apostrophe",
        pt="O texto começa com um apóstrofo, que será enviado: {character}",
        en="The text begins with an apostrophe, which is sent: {character}",
        hint_pt="Apague o apóstrofo: o Excel só o ignora quando é digitado na célula.",
        hint_en="Delete the apostrophe: Excel only ignores it when it is typed into the cell.",
    ),
    error(
        "character-lost",
        pt="O texto perdeu um caractere quando o arquivo foi convertido (aparece �).",
        en="The text lost a character when the file was converted (� is shown).",
        hint_pt="Digite o texto de novo, ou abra o arquivo de origem na codificação certa.",
        hint_en="Type the text again, or open the source file in the right encoding.",
    ),
    warning(
        "letter-lost",
        pt="O texto tem ? dentro de uma palavra ({character}): letras com acento podem ter se "
        "perdido; será enviado assim.",
        en="The text has a ? within a word ({character}): letters with accents may have been "
        "lost; it is sent as it is.",
        hint_pt="Exporte os dados de novo, na codificação UTF-8, ou digite o texto.",
        hint_en="Export the data again, encoded as UTF-8, or type the text.",
    ),
    warning(
        "character-private",
        pt="O texto tem um caractere que só uma fonte específica mostra ({character}); será "
        "enviado como está.",
        en="The text has a character that only a specific font displays ({character}); it is "
        "sent unchanged.",
        hint_pt="Troque-o por letras ou símbolos comuns.",
        hint_en="Replace it with ordinary letters or symbols.",
    ),
    warning(
        "text-misread",
        pt="O texto parece mal convertido de outro arquivo; talvez seja {read}.",
        en="The text seems badly converted from another file; it may be {read}.",
        hint_pt="Abra o arquivo de origem como UTF-8 e cole de novo, ou digite o texto.",
        hint_en="Open the source file as UTF-8 and paste again, or type the text.",
    ),
    warning(
        "text-spaces",
        pt="Há espaços no começo ou no fim do texto; não serão enviados.",
        en="There are spaces at the beginning or the end of the text; they are not sent.",
        hint_pt="Apague os espaços.",
        hint_en="Delete the spaces.",
    ),
    warning(
        "invisible-character",
        pt="O texto tem um caractere invisível ({character}), que não será enviado.",
        en="The text has an invisible character ({character}), which is not sent.",
        hint_pt=_TYPE_AGAIN.pt,
        hint_en=_TYPE_AGAIN.en,
    ),
    warning(
        "look-alike-letter",
        pt="O texto tem uma letra de outro alfabeto que só parece latina ({character}).",
        en="The text has a letter of another alphabet that only looks Latin ({character}).",
        hint_pt=_TYPE_AGAIN.pt,
        hint_en=_TYPE_AGAIN.en,
    ),
    error(
        "cell-error",
        pt="A célula mostra um erro do Excel ({error}).",
        en="The cell shows an Excel error ({error}).",
        hint_pt="Corrija a fórmula, ou digite o valor.",
        hint_en="Correct the formula, or type the value.",
    ),
    error(
        "formula-no-value",
        pt="A célula tem uma fórmula sem resultado gravado.",
        en="The cell has a formula without a stored result.",
        hint_pt="Abra o arquivo no Excel, recalcule e salve; ou cole o valor.",
        hint_en="Open the workbook in Excel, recalculate and save; or paste the value.",
    ),
    error(
        "hidden-character",
        pt="O texto tem um caractere invisível ou de outro alfabeto ({character}).",
        en="The text has an invisible or look-alike character ({character}).",
        hint_pt=_TYPE_AGAIN.pt,
        hint_en=_TYPE_AGAIN.en,
    ),
    warning(
        "value-spelling",
        pt="O valor difere do permitido em maiúsculas ou acentos; será lido como {read}.",
        en="The value differs from an allowed one in case or accents; it is read as {read}.",
        hint_pt="Escreva {read}.",
        hint_en="Write {read}.",
    ),
)
