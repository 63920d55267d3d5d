"""What is found by holding the workbooks of a batch against one another, and by its links."""

from xlbridge.findings.finding import FindingKind, error, warning
from xlbridge.i18n import Text

KINDS: tuple[FindingKind, ...] = (
    error(
        "link-unknown",
        Text(
            pt="Nenhum registro tem este {by}: {registry}.",
            en="None of {registry} has this {by}.",
        ),
        Text(
            pt="Confira o valor, ou cadastre antes o registro que ele nomeia.",
            en="Check the value, or register first what it names.",
        ),
    ),
    error(
        "link-ambiguous",
        Text(
            pt="Mais de um registro tem este {by}: {records}.",
            en="More than one record has this {by}: {records}.",
        ),
        Text(
            pt="Corrija os registros, ou nomeie-os no plano por outra coluna.",
            en="Correct the records, or let the plan name them by another column.",
        ),
    ),
    error(
        "link-unproven",
        Text(
            pt="Não se achou registro com este {by}, e {registry} não veio inteiro.",
            en="No record with this {by} was found, and of {registry} not all could be read.",
        ),
        Text(
            pt="Confira o registro no sistema e tente de novo.",
            en="Look the record up in the system, and try again.",
        ),
    ),
    error(
        "reference-unknown-in-batch",
        Text(
            pt="Não está nos arquivos deste lote nem no sistema: {registry}.",
            en="This is neither in the workbooks of this batch nor in the system, among "
            "{registry}.",
        ),
        Text(
            pt="Confira o valor, ou ponha o registro num arquivo do lote; enquanto ele não tem "
            "código, quem o nomeia é um link do plano.",
            en="Check the value, or put the record into a workbook of the batch; as long as it has "
            "no code, a link of the plan names it.",
        ),
    ),
    error(
        "reference-inactive-in-batch",
        Text(
            pt="O registro que esta célula nomeia está inativo neste lote: {place}.",
            en="The record that this cell names is inactive in this batch: {place}.",
        ),
        Text(
            pt="Nomeie um registro ativo, ou ative este no seu arquivo.",
            en="Name an active record, or make this one active in its workbook.",
        ),
    ),
    warning(
        "reference-waits",
        Text(
            pt="O registro que esta célula nomeia está neste lote, numa linha ou "
            "planilha com erro: {place}.",
            en="The record that this cell names is in this batch, in a row or sheet "
            "with an error: {place}.",
        ),
        Text(
            pt="Corrija-a primeiro: esta linha só pode ir depois dela.",
            en="Mend that one first: this row can only go after it.",
        ),
    ),
    warning(
        "reference-unsettled",
        Text(
            pt="Ainda não se sabe se o registro existe: o arquivo {files} deste lote não se leu, "
            "ou não está inteiro no sistema.",
            en="It is not known yet whether the record exists: {files} of this batch could not be "
            "read, or is not wholly in the system.",
        ),
        Text(
            pt="Corrija aquele arquivo primeiro; este espera por ele.",
            en="Mend that workbook first; this one waits for it.",
        ),
    ),
    error(
        "row-repeated",
        Text(
            pt="A linha é igual, em todas as colunas, a uma anterior deste lote: {first}.",
            en="The row is the same, in every column, as an earlier one of this batch: {first}.",
        ),
        Text(
            pt="Apague a que sobra. Se as duas devem ir, ponha-as no mesmo arquivo, ou distinga-as "
            "por uma das colunas.",
            en="Delete the one too many. If both are meant, put them into one workbook, or let a "
            "column tell them apart.",
        ),
    ),
)
