"""Findings beyond one row: other rows, other workbooks of a batch, the live system."""

from xlbridge.i18n import Text
from xlbridge.resources.findings.finding import FindingKind, error, warning

_LOOK_UP = Text(
    pt="Confira-os no sistema, ou valide a planilha em partes.",
    en="Look them up in the system, or validate the sheet in parts.",
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
        "spaces or a date that is not understood ({record}); an upload holds the row.",
        hint_pt="Se é o mesmo registro, use a chave do sistema.",
        hint_en="If it is the same record, use the system's key.",
    ),
)

BATCH_FINDINGS: tuple[FindingKind, ...] = (
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
