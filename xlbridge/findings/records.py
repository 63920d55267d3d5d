"""What is found by looking beyond one row: at other rows, and at the live system."""

from xlbridge.findings.finding import FindingKind, error, warning
from xlbridge.i18n import Text

KINDS: tuple[FindingKind, ...] = (
    error(
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
    error(
        "duplicate-across-sheets",
        Text(
            pt="O valor se repete: já está em {first}.",
            en="The value is repeated: it is in {first} already.",
        ),
        Text(
            pt="Deixe só uma das linhas, em uma só planilha, ou corrija o valor.",
            en="Keep only one of the rows, in one sheet only, or correct the value.",
        ),
    ),
    error(
        "reference-unknown",
        Text(pt="O código não existe: {registry}.", en="The code is not among {registry}."),
        Text(
            pt="Confira o código, ou cadastre-o no sistema antes de enviar.",
            en="Check the code, or register it in the system before the upload.",
        ),
    ),
    error(
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
    warning(
        "reference-unproven",
        Text(
            pt="Não se sabe se o código existe: {registry} não veio inteiro.",
            en="It is not known whether the code exists: of {registry} not all could be read.",
        ),
        Text(pt="Confira o código no sistema.", en="Look the code up in the system."),
    ),
    warning(
        "references-not-looked-up",
        Text(
            pt="{count} de {codes} {codes:código|códigos} não {count:foi procurado|foram "
            "procurados}: {registry}, um a um.",
            en="{count} of {codes} {codes:code|codes} {count:was|were} not looked up: {registry}, "
            "one by one.",
        ),
        Text(
            pt="Confira-os no sistema, ou valide a planilha em partes.",
            en="Look them up in the system, or validate the sheet in parts.",
        ),
    ),
    warning(
        "records-not-looked-up",
        Text(
            pt="Não se procurou se o sistema já tem os registros de {count} {count:linha|linhas}: "
            "{why}.",
            en="It was not looked up whether the system has the records of {count} "
            "{count:row|rows}: {why}.",
        ),
        Text(
            pt="Confira-os no sistema, ou valide a planilha em partes.",
            en="Look them up in the system, or validate the sheet in parts.",
        ),
    ),
    error(
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
    warning(
        "record-exists",
        Text(
            pt="O sistema já tem um registro com esta chave ({code}); {effect}.",
            en="The system has a record with this key already ({code}); {effect}.",
        ),
        Text(pt="Confira se é isso que se quer.", en="Check that this is what is wanted."),
    ),
)
