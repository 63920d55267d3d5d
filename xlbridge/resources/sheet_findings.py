"""Findings about a sheet as a whole (header, columns, rows), and beyond one row: other rows, other
workbooks of a batch, the live system."""

from xlbridge.i18n import Text
from xlbridge.resources.findings import FindingKind, error, warning

_DELETE_ROW = Text(
    pt="Apague a linha; se é um registro, preencha as outras células dela.",
    en="Delete the row; if it is a record, fill in its other cells.",
)

_LOOK_UP = Text(
    pt="Confira-os no sistema, ou valide a planilha em partes.",
    en="Look them up in the system, or validate the sheet in parts.",
)

SHEET_FINDINGS: tuple[FindingKind, ...] = (
    error(
        "sheet-empty",
        pt="A planilha não tem linhas de dados.",
        en="The sheet has no data rows.",
        hint_pt="Preencha a planilha abaixo do cabeçalho.",
        hint_en="Fill in the sheet below the header.",
    ),
    warning(
        "sheets-hidden",
        pt="Há planilhas ocultas, que não são lidas: {listed}.",
        en="There are hidden sheets, which are not read: {listed}.",
        hint_pt="Se os dados estão numa delas, reexiba-a no Excel, ou informe qual com --sheet.",
        hint_en="If the data is in one of them, unhide it in Excel, or choose it with --sheet.",
    ),
    error(
        "list-misnamed",
        pt="A planilha {sheet} parece ser a lista {list}, mas não é lida por ter outro nome.",
        en="The sheet {sheet} seems to be the list {list}, but is not read: its name differs.",
        hint_pt="Dê o nome {list} à planilha; se ela é outra coisa, exclua-a ou mude o título da "
        "coluna chave.",
        hint_en="Call the sheet {list}; if it is something else, delete it, or rename its column "
        "chave.",
    ),
    error(
        "header-not-found",
        pt="Nenhuma linha com os nomes das colunas de {resource} foi encontrada.",
        en="No row with the column names of {resource} was found.",
        hint_pt="Use o modelo: xlbridge template {resource}",
        hint_en="Use the template: xlbridge template {resource}",
    ),
    error(
        "template-of-other",
        pt="O arquivo foi feito com o modelo de {found}, não de {resource}.",
        en="The workbook was made from the template of {found}, not of {resource}.",
        hint_pt="Confira-o com --resource {found}, ou use o modelo: xlbridge template {resource}",
        hint_en="Check it with --resource {found}, or use the template: xlbridge template "
        "{resource}",
    ),
    error(
        "columns-joined",
        pt="As colunas estão todas numa célula, separadas por {separator}.",
        en="The columns are all in one cell, separated by {separator}.",
        hint_pt="No Excel: Dados > Texto para Colunas, com esse separador e os códigos como Texto.",
        hint_en="In Excel: Data > Text to Columns, with that separator and the codes as Text.",
    ),
    warning(
        "template-outdated",
        pt="O arquivo foi feito com outro modelo (leiaute {found}; o atual é {current}): "
        "{changes}.",
        en="The workbook was made from another template (layout {found}; the current one is "
        "{current}): {changes}.",
        hint_pt="Grave uma cópia com o cabeçalho atual: xlbridge template {resource} --migrate "
        "ARQUIVO -o NOVO.xlsx",
        hint_en="Write a copy with the current header: xlbridge template {resource} --migrate "
        "FILE -o NEW.xlsx",
    ),
    error(
        "column-missing",
        pt="Falta a coluna obrigatória {column}.",
        en="The required column {column} is missing.",
        hint_pt="Acrescente ao cabeçalho uma coluna com o nome {column}.",
        hint_en="Add a column named {column} to the header.",
    ),
    error(
        "key-column-missing",
        pt="Falta a coluna {column}, que une a esta planilha as linhas de {sheets}.",
        en="The column {column}, which joins the rows of {sheets} to this sheet, is missing.",
        hint_pt="Acrescente a coluna {column} com a chave de cada linha; num mapeamento, diga em "
        "columns de que coluna ela vem.",
        hint_en="Add a column {column} with the key of each row; in a mapping, state under columns "
        "where it comes from.",
    ),
    warning(
        "column-in-index",
        pt="O índice do DataFrame se chama {column}; o índice não é lido nem enviado.",
        en="The DataFrame's index is called {column}; an index is neither read nor sent.",
        hint_pt="Faça dele uma coluna: frame.reset_index().",
        hint_en="Make it a column: frame.reset_index().",
    ),
    error(
        "mapping-column-missing",
        pt="O mapeamento não tem a coluna obrigatória {column}.",
        en="The mapping lacks the required column {column}.",
        hint_pt="Acrescente {column} em columns de {mapping}: de uma coluna (from) ou um valor "
        "(constant).",
        hint_en="Add {column} to columns of {mapping}: from a column (from) or a value (constant).",
    ),
    error(
        "mapping-value-unknown",
        pt="O mapeamento não tem este valor; tem: {known}.",
        en="The mapping does not have this value; it has: {known}.",
        hint_pt="Acrescente o valor em values do mapeamento, ou corrija a célula.",
        hint_en="Add the value to values of the mapping, or correct the cell.",
    ),
    error(
        "mapping-item-incomplete",
        pt="Falta {column} da parcela {n}, que tem {others}.",
        en="The instalment {n} lacks {column}, and has {others}.",
        hint_pt="Preencha a célula, ou apague o que a parcela tem.",
        hint_en="Fill in the cell, or delete what the instalment has.",
    ),
    warning(
        "mapping-rows-left-out",
        pt="O mapeamento deixa linhas de fora, por {header}: {words}.",
        en="The mapping leaves out rows, by {header}: {words}.",
        hint_pt="Se alguma deve ser enviada, mude rows ou sign no mapeamento.",
        hint_en="If any is to be sent, change rows or sign in the mapping.",
    ),
    error(
        "mapping-day-unknown",
        pt="Não é um dia do mês {month}.",
        en="It is not a day of the month {month}.",
        hint_pt="Escreva a data inteira, ou corrija o dia e o mês (como 10/2026).",
        hint_en="Type the whole date, or correct the day and the month (such as 10/2026).",
    ),
    error(
        "mapping-rows-contradict",
        pt="As linhas do mesmo registro têm valores diferentes aqui e em {others}.",
        en="Rows of the same record have different values here and in {others}.",
        hint_pt="Corrija as células, ou leve a coluna para uma lista do mapeamento (lists) ou para "
        "ignore.",
        hint_en="Correct the cells, or move the column to a list of the mapping (lists) or to "
        "ignore.",
    ),
    error(
        "mapping-part-shown-otherwise",
        pt="O texto de {header} seria {stored}, mas a célula mostra outra coisa.",
        en="The text of {header} would be {stored}, but the cell shows something else.",
        hint_pt="Formate a célula como texto e digite o que deve ser enviado.",
        hint_en="Format the cell as text and type what should be sent.",
    ),
    error(
        "mapping-document-unknown",
        pt="O mapeamento espera {kinds}, e este valor é outra coisa.",
        en="The mapping expects {kinds}, but this value is something else.",
        hint_pt="Corrija o documento na célula, ou mapeie uma coluna para o outro tipo (when).",
        hint_en="Correct the document in the cell, or map a column for the other kind (when).",
    ),
    error(
        "column-duplicate",
        pt="A coluna {column} aparece mais de uma vez ({cells}).",
        en="The column {column} appears more than once ({cells}).",
        hint_pt="Deixe só uma; enquanto houver duas, nenhuma é lida.",
        hint_en="Keep only one; while there are two, neither is read.",
    ),
    error(
        "column-split",
        pt="O nome da coluna {column} está em duas linhas: {header}.",
        en="The name of the column {column} spans two rows: {header}.",
        hint_pt="Escreva {column} numa só célula do cabeçalho, e apague a outra linha.",
        hint_en="Write {column} in one cell of the header, and delete the other row.",
    ),
    error(
        "column-misspelt",
        pt="A coluna {header} parece ser {column}.",
        en="The column {header} seems to be {column}.",
        hint_pt="Escreva {column} no cabeçalho, ou dê outro nome à coluna se for anotação sua.",
        hint_en="Write {column} in the header, or rename the column if it is a note of your own.",
    ),
    error(
        "column-missing-alike",
        pt="Falta a coluna obrigatória {column}; parece ser a coluna {header}.",
        en="The required column {column} is missing; it seems to be the column {header}.",
        hint_pt="Se for, escreva {column} no cabeçalho; se não, acrescente essa coluna.",
        hint_en="If so, write {column} in the header; otherwise add a column of that name.",
    ),
    warning(
        "column-alike",
        pt="A coluna {header} não será enviada; será que é {column}?",
        en="The column {header} will not be sent; did you mean {column}?",
        hint_pt="Se for, escreva {column} no cabeçalho; se for uma anotação sua, deixe assim.",
        hint_en="If so, write {column} in the header; leave it if it is a note of your own.",
    ),
    warning(
        "column-unknown",
        pt="A coluna {header} não existe em {resource} e não será enviada.",
        en="The column {header} does not exist in {resource} and will not be sent.",
        hint_pt="Confira o nome, ou deixe assim se é só uma anotação sua.",
        hint_en="Check the name, or leave it if it is a note of your own.",
    ),
    warning(
        "columns-read-only",
        pt="A exportação tem colunas que {resource} não recebe e que não serão enviadas: "
        "{columns}.",
        en="The export has columns that {resource} does not take, and that will not be sent: "
        "{columns}.",
        hint_pt="Pode deixá-las assim.",
        hint_en="They may stay.",
    ),
    warning(
        "column-unnamed",
        pt="A coluna tem dados e não tem nome; não será enviada.",
        en="The column has data but no name; it will not be sent.",
        hint_pt="Dê à coluna o nome de um campo, ou deixe assim se é só uma anotação sua.",
        hint_en="Give the column the name of a field, or leave it if it is a note of your own.",
    ),
    error(
        "row-longer",
        pt="{count:Uma linha tem|{count} linhas têm} mais células que o cabeçalho "
        "({count:linha|linhas} {rows}): o separador está dentro de um valor, e o que vem "
        "depois mudou de coluna.",
        en="{count:One row has|{count} rows have} more cells than the header "
        "({count:row|rows} {rows}): a value contains the delimiter, and the values after it "
        "are in the wrong columns.",
        hint_pt='Ponha esses valores entre aspas, como "10,50", ou salve o CSV com outro '
        "separador, como ;.",
        hint_en='Put such values in quotes, like "10,50", or save the CSV with another delimiter, '
        "such as ;.",
    ),
    error(
        "row-cut-off",
        pt="O arquivo termina no meio da linha {row}, sem quebra de linha: foi cortado, e "
        "faltam o resto dela e o que vinha depois.",
        en="The file ends in the middle of row {row}, without a line break: it was cut off, "
        "and the rest of the row and all later rows are missing.",
        hint_pt="Exporte ou copie o arquivo de novo. Se a linha está completa, ponha nela os "
        "separadores que faltam.",
        hint_en="Export or copy the file again. If the row is complete, add its missing "
        "delimiters.",
    ),
    warning(
        "row-shorter",
        pt="{count:Uma linha tem|{count} linhas têm} menos células que o cabeçalho "
        "({count:linha|linhas} {rows}); as que faltam são lidas como vazias.",
        en="{count:One row has|{count} rows have} fewer cells than the header "
        "({count:row|rows} {rows}); missing cells are read as empty.",
        hint_pt="Alguns programas omitem as células vazias do fim. Se não é o caso, a linha perdeu "
        "um separador ou foi quebrada em duas: corrija-a.",
        hint_en="Some programs leave out empty cells at the end. If yours does not, the row has "
        "lost a delimiter or was broken in two: correct it.",
    ),
    warning(
        "column-hidden",
        pt="A coluna está oculta e será enviada.",
        en="The column is hidden and will be sent.",
        hint_pt="Mostre a coluna e confira o que há nela.",
        hint_en="Unhide the column and check what is in it.",
    ),
    warning(
        "rows-hidden",
        pt="Há linhas ocultas com dados ({count}: {rows}); elas serão enviadas.",
        en="There are hidden rows with data ({count}: {rows}); they will be sent.",
        hint_pt="Mostre as linhas (ou tire o filtro) e confira, ou apague as que não devem ser "
        "enviadas.",
        hint_en="Unhide the rows (or clear the filter) and check them, or delete those that must "
        "not be sent.",
    ),
    error(
        "row-header-again",
        pt="A linha repete o cabeçalho; não é um registro.",
        en="The row repeats the header; it is not a record.",
        hint_pt="Apague a linha.",
        hint_en="Delete the row.",
    ),
    error(
        "row-total",
        pt="A linha parece um total, e não um registro; ela não é enviada.",
        en="The row seems to be a total, not a record; it is not sent.",
        hint_pt=_DELETE_ROW.pt,
        hint_en=_DELETE_ROW.en,
        is_guess=True,
    ),
    error(
        "row-note",
        pt="A linha parece uma anotação ou um título, e não um registro; ela não é enviada.",
        en="The row seems to be a note or a title, not a record; it is not sent.",
        hint_pt=_DELETE_ROW.pt,
        hint_en=_DELETE_ROW.en,
        is_guess=True,
    ),
    warning(
        "row-doubtful",
        pt="A linha talvez não seja um registro: parece um total, um título ou uma anotação; "
        "ela será enviada.",
        en="The row may not be a record: it looks like a total, a title or a note; it is sent.",
        hint_pt="Apague a linha se não é um registro. Se é, aceite: --accept {accepted}.",
        hint_en="Delete the row if it is no record. If it is one, accept it: --accept {accepted}.",
        of_column=True,
    ),
    error(
        "row-struck",
        pt="A linha está riscada (tachado), como se não valesse mais; ela não é enviada.",
        en="The row is struck through, as if it were no longer valid; it is not sent.",
        hint_pt="Apague a linha, ou tire o tachado se ela vale.",
        hint_en="Delete the row, or remove the strikethrough if it is valid.",
    ),
    warning(
        "cell-struck",
        pt="A célula está riscada (tachado), como se não valesse mais; o valor será enviado.",
        en="The cell is struck through, as if it were no longer valid; its value is sent.",
        hint_pt="Apague o valor, ou tire o tachado se ele vale.",
        hint_en="Delete the value, or remove the strikethrough if it is valid.",
    ),
    warning(
        "text-struck-in-part",
        pt="Uma parte do texto está riscada (tachado); o texto inteiro será enviado.",
        en="A part of the text is struck through; the whole text is sent.",
        hint_pt="Apague a parte riscada, ou tire o tachado se ela vale.",
        hint_en="Delete that part, or remove the strikethrough if it is valid.",
    ),
    warning(
        "date-system-old",
        pt="O arquivo conta os dias desde 1904: datas coladas de outro ficam quatro anos adiante.",
        en="The workbook counts days from 1904: dates pasted from others are four years ahead.",
        hint_pt="Confira o ano das datas.",
        hint_en="Check the year of the dates.",
    ),
    error(
        "cells-merged",
        pt="As células {range} estão mescladas: só a primeira tem valor; as outras, não.",
        en="The cells {range} are merged: only the first holds a value, the others are empty.",
        hint_pt="Desfaça a mesclagem e preencha cada célula.",
        hint_en="Unmerge them and fill in each cell.",
    ),
    warning(
        "formula-result",
        pt="A coluna tem fórmulas, a primeira aqui; vale o último resultado gravado.",
        en="The column has formulas, the first one here; their last stored results are read.",
        hint_pt="Recalcule e salve o arquivo antes de enviar, ou cole os valores.",
        hint_en="Recalculate and save the workbook before sending it, or paste the values.",
    ),
)

RECORD_FINDINGS: tuple[FindingKind, ...] = (
    error(
        "duplicate-across-sheets",
        pt="O valor se repete: já está em {first}.",
        en="The value is repeated: it is in {first} already.",
        hint_pt="Deixe só uma das linhas, em uma só planilha, ou corrija o valor.",
        hint_en="Keep only one of the rows, in one sheet only, or correct the value.",
    ),
    error(
        "child-without-parent",
        pt="Nenhuma linha da planilha {sheet} tem a chave {key}.",
        en="No row of the sheet {sheet} has the key {key}.",
        hint_pt="Corrija a chave, ou inclua a linha que falta na planilha {sheet}.",
        hint_en="Correct the key, or add the missing row to the sheet {sheet}.",
    ),
    error(
        "parent-without-children",
        pt="Nenhuma linha de {sheets} tem a chave {key}.",
        en="No row of {sheets} has the key {key}.",
        hint_pt="Inclua as linhas deste registro em {sheets}, com a mesma chave.",
        hint_en="Add the rows of this record to {sheets}, with the same key.",
    ),
    error(
        "child-sum",
        pt="A soma de {column} da chave {key} é {found}, e não {expected}.",
        en="The sum of {column} for the key {key} is {found}, not {expected}.",
        hint_pt="Corrija as linhas desta chave: devem somar {expected}.",
        hint_en="Correct the rows of this key: they must add up to {expected}.",
    ),
    error(
        "child-sum-without-total",
        pt="Falta o valor: a chave {key} tem linhas em {sheet}, que somam {found}.",
        en="The value is missing: the key {key} has rows in {sheet}, which add up to {found}.",
        hint_pt="Preencha a célula com a soma, ou apague as linhas desta chave em {sheet}.",
        hint_en="Fill in the cell with the sum, or delete the rows of this key in {sheet}.",
    ),
    error(
        "reference-unknown",
        pt="O código não está entre {registry}.",
        en="The code is not among {registry}.",
        hint_pt="Confira o código, ou cadastre-o no sistema antes de enviar.",
        hint_en="Check the code, or register it in the system before the upload.",
    ),
    error(
        "reference-inactive",
        pt="O código existe entre {registry}, mas está inativo.",
        en="The code exists among {registry}, but is inactive.",
        hint_pt="Use um código ativo, ou reative este no sistema.",
        hint_en="Use an active code, or activate this one in the system.",
    ),
    warning(
        "reference-unproven",
        pt="Não se sabe se o código existe: a lista não veio inteira ({registry}).",
        en="It is not known whether the code exists: not all of {registry} could be read.",
        hint_pt="Confira o código no sistema.",
        hint_en="Look the code up in the system.",
    ),
    warning(
        "references-not-looked-up",
        pt="{count} de {codes} {codes:código|códigos} não {count:foi procurado|foram "
        "procurados}: {registry}, um a um.",
        en="{count} of {codes} {codes:code|codes} {count:was|were} not looked up: {registry}, "
        "one by one.",
        hint_pt=_LOOK_UP.pt,
        hint_en=_LOOK_UP.en,
    ),
    warning(
        "records-not-looked-up",
        pt="Os registros de {count} {count:linha|linhas} não foram procurados no sistema: {why}.",
        en="The records of {count} {count:row|rows} were not looked up in the system: {why}.",
        hint_pt=_LOOK_UP.pt,
        hint_en=_LOOK_UP.en,
    ),
    error(
        "already-registered",
        pt="O sistema já tem este registro ({code}) e rejeitaria a linha.",
        en="The system has this record already ({code}) and would reject the row.",
        hint_pt="Apague a linha, ou corrija o documento.",
        hint_en="Remove the row, or correct the document.",
    ),
    warning(
        "record-exists",
        pt="O sistema já tem um registro com esta chave ({code}); {effect}.",
        en="The system has a record with this key already ({code}); {effect}.",
        hint_pt="Confira se é isso que você quer.",
        hint_en="Check that this is what you want.",
    ),
    warning(
        "record-near",
        pt="O sistema tem quase a mesma chave, com outros zeros à esquerda, maiúsculas, "
        "acentos, espaços ou uma data ilegível ({record}); no envio, a linha aguarda você.",
        en="The system has nearly the same key, with other leading zeros, case, accents, "
        "spaces or a date that is not understood ({record}); in an upload, the row waits for "
        "you.",
        hint_pt="Se é o mesmo registro, use a chave do sistema.",
        hint_en="If it is the same record, use the system's key.",
    ),
    error(
        "link-unknown",
        pt="Não encontrado entre {registry} por {by}.{similar}",
        en="Not found among {registry} by {by}.{similar}",
        hint_pt="Cadastre-o ou escolha outro; num mapeamento, values da coluna diz uma vez o nome "
        "dele no sistema.",
        hint_en="Register it first, or choose another; in a mapping, values of the column says "
        "once what it is called in the system.",
    ),
    error(
        "link-not-sent",
        pt="Nenhuma linha de {file} que esteja no sistema tem este valor em {column}.",
        en="No row of {file} that is in the system has this value in {column}.",
        hint_pt="Confira o valor, ou envie antes a planilha a que ele se refere.",
        hint_en="Check the value, or upload the sheet that it refers to first.",
    ),
    error(
        "link-not-in-sheet",
        pt="Nenhuma linha de {file} tem este valor em {column}.",
        en="No row of {file} has this value in {column}.",
        hint_pt="Confira o valor, ou ponha a linha naquele arquivo.",
        hint_en="Check the value, or add the row to that workbook.",
    ),
    error(
        "link-ambiguous",
        pt="Mais de um registro tem este {by}: {records}.",
        en="More than one record has this {by}: {records}.",
        hint_pt="Use um valor que só um deles tem (CNPJ, CPF, seu código), ou corrija os "
        "registros.",
        hint_en="Use a value that only one of them has (CNPJ, CPF, own code), or correct the "
        "records.",
    ),
    error(
        "link-unproven",
        pt="Não se sabe que registro tem este {by}: a lista não veio inteira "
        "({registry}).{similar}",
        en="It is not known which record has this {by}: not all of {registry} could be "
        "read.{similar}",
        hint_pt="Confira o registro no sistema e tente de novo.",
        hint_en="Look the record up in the system, and try again.",
    ),
    error(
        "reference-unknown-in-batch",
        pt="Não está nos arquivos deste lote nem no sistema ({registry}).",
        en="This is neither in the workbooks of this batch nor in the system, among {registry}.",
        hint_pt="Confira o valor, ou ponha o registro num arquivo do lote; enquanto ele não tiver "
        "código, indique-o com um link no plano.",
        hint_en="Check the value, or put the record into a workbook of the batch; while it has no "
        "code, refer to it with a link in the plan.",
    ),
    error(
        "reference-inactive-in-batch",
        pt="O registro que esta célula indica está inativo neste lote: {place}.",
        en="The record that this cell refers to is inactive in this batch: {place}.",
        hint_pt="Indique um registro ativo, ou ative este no seu arquivo.",
        hint_en="Refer to an active record, or activate this one in its workbook.",
    ),
    warning(
        "reference-waits",
        pt="O registro que esta célula indica está neste lote, numa linha ou planilha com "
        "erro: {place}.",
        en="The record that this cell refers to is in this batch, in a row or sheet with an "
        "error: {place}.",
        hint_pt="Corrija-a primeiro: esta linha só pode ir depois dela.",
        hint_en="Fix that one first: this row can only be sent after it.",
    ),
    warning(
        "reference-unsettled",
        pt="Ainda não se sabe se o registro existe: o arquivo {files} deste lote não pôde "
        "ser lido, ou não está inteiro no sistema.",
        en="It is not known yet whether the record exists: {files} of this batch could not "
        "be read, or is not entirely in the system.",
        hint_pt="Corrija aquele arquivo primeiro; este espera por ele.",
        hint_en="Fix that workbook first; this one waits for it.",
    ),
    error(
        "row-repeated",
        pt="A linha é igual, em todas as colunas, a uma anterior deste lote: {first}.",
        en="The row is the same, in every column, as an earlier one of this batch: {first}.",
        hint_pt="Apague uma delas. Se as duas devem ser enviadas, ponha-as no mesmo arquivo, ou "
        "distinga-as por uma das colunas.",
        hint_en="Delete one of them. If both must be sent, put them into one workbook, or make "
        "them differ in a column.",
    ),
)
