"""Actions on the rows of a plan, and the reasons why a row is not written, with their texts.

See the product brief, Row actions.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Self

from xlbridge.i18n import Text, joined


class RowAction(StrEnum):
    """Action on a row of a sheet, or on a record that is processed.

    ``text`` names it of ``n`` rows of a plan, ``count_text`` says their number, too; ``writes`` is
    False if they are not sent.
    ``is_of_record``: the row changes or deletes a record that exists.
    """

    text: Text
    count_text: Text
    writes: bool
    is_of_record: bool

    def __new__(cls, value: str, pt: str = "", en: str = "") -> Self:
        """Return the action with its text in both languages."""
        self = str.__new__(cls, value)
        self._value_, self.text = value, Text(pt=pt, en=en)
        self.count_text = Text(pt=f"{{n}} {pt}", en=f"{{n}} {en}")
        self.writes = value not in {"unchanged", "held"}
        self.is_of_record = value in {"update", "delete"}
        return self

    CREATE = "create", "a incluir", "to create"
    UPDATE = "update", "a alterar", "to update"
    UNCHANGED = "unchanged", "sem alteração", "unchanged"
    HELD = "held", "não {n:enviada|enviadas}, aguardando você", "not {n:sent|sent}, waiting for you"
    UNREAD = "unread", "a incluir sem conferir", "to create without a look-up"
    DELETE = "delete", "a excluir", "to delete"
    PROCESS = "process"


def action_counts(counts: Mapping[str, int]) -> Iterator[Text]:
    """Yield the number of rows of a plan for each action that it has, in words."""
    return (
        action.count_text.format(n=counts[action]) for action in RowAction if counts.get(action)
    )


class RowReason(StrEnum):
    """Reason why a row is not created, processed or reversed, with a stable code."""

    SAME = "same"
    SENT_BEFORE = "sent-before"
    DIFFERS = "differs"
    CANNOT_CHANGE = "cannot-change"
    EMPTY_CELL = "empty-cell"
    SEVERAL = "several"
    CLAIMED = "claimed"
    GONE = "gone"
    SHOWN_LATE = "shown-late"
    UNKNOWN_NUMBER = "unknown-number"
    TWO_RECORDS = "two-records"
    NEAR_KEY = "near-key"
    WAS_CLOSED = "was-closed"
    NOT_LOOKED_UP = "not-looked-up"
    NO_KEY = "no-key"
    SET_LATER = "set-later"
    NO_RECORD = "no-record"
    ERRORS = "errors"
    REJECTED = "rejected"
    SENT_OTHERWISE = "sent-otherwise"
    NOT_IN_SYSTEM = "not-in-system"
    NOT_DELETED = "not-deleted"
    NOT_FOUND = "not-found"
    CLOSED = "closed"
    UNKNOWN = "unknown"
    PROCESSED_BEFORE = "processed-before"
    CHANGED = "changed"
    SETTLED = "settled"
    NO_OPERATION = "no-operation"
    NOT_IDENTIFIED = "not-identified"

    @property
    def why(self) -> Text:
        """The explanation without its remedy."""
        return _REASONS.get(self, _ONLY_WHY)

    @property
    def text(self) -> Text:
        """The explanation with its remedy."""
        remedy = _REMEDIES.get(self)
        return self.why if remedy is None else joined((self.why, remedy), "; ")

    @property
    def remedy(self) -> Text | None:
        """Remedy for the row, None if nothing is offered."""
        return _REMEDIES.get(self)

    @property
    def is_of_sheet(self) -> bool:
        """True if the reason is in the sheet, independent of the system's records."""
        return self in _SHEET_REASONS


_SHEET_REASONS = frozenset(
    {RowReason.NO_RECORD, RowReason.ERRORS, RowReason.REJECTED, RowReason.SENT_OTHERWISE}
)

_ONLY_WHY = Text(pt="{why}", en="{why}")
_REASONS: Mapping[RowReason, Text] = {
    RowReason.SAME: Text(
        pt="já no sistema com os mesmos valores", en="in the system with the same values"
    ),
    RowReason.SENT_BEFORE: Text(
        pt="já foi aceita no envio {job}", en="was already accepted, in the upload {job}"
    ),
    RowReason.DIFFERS: Text(
        pt="já no sistema com outros valores", en="in the system with other values"
    ),
    RowReason.CANNOT_CHANGE: Text(
        pt="já no sistema com outros valores, que não podem ser alterados por planilha",
        en="in the system with other values, which the interface cannot change",
    ),
    RowReason.EMPTY_CELL: Text(
        pt="a célula está vazia e o sistema tem um valor",
        en="the cell is empty and the system has a value",
    ),
    RowReason.SEVERAL: Text(
        pt="vários registros ou linhas têm a mesma chave, e não se sabe qual é qual",
        en="several records or rows have the same key and cannot be told apart",
    ),
    RowReason.CLAIMED: Text(
        pt="o envio {job} a contém e não terminou",
        en="is in the upload {job}, which is not finished",
    ),
    RowReason.GONE: Text(
        pt="já foi aceita no envio {job}, e não está mais no sistema",
        en="was accepted in the upload {job}, and is no longer in the system",
    ),
    RowReason.SHOWN_LATE: Text(
        pt="o sistema ainda não mostra o que o envio {job} gravou; envie de novo em alguns minutos",
        en="the system does not show yet what the upload {job} has written; send it again in a few "
        "minutes",
    ),
    RowReason.UNKNOWN_NUMBER: Text(
        pt="o número do registro ({why}) não existe neste sistema: foi excluído, ou é de outro "
        "sistema",
        en="its record number ({why}) does not exist in this system: it was deleted, or is another "
        "system's",
    ),
    RowReason.TWO_RECORDS: Text(
        pt="o número e a chave são de registros diferentes ({why})",
        en="its number and its key belong to different records ({why})",
    ),
    RowReason.NEAR_KEY: Text(
        pt="o sistema tem quase a mesma chave, com outros zeros à esquerda, maiúsculas, acentos, "
        "espaços ou uma data que não se entende ({why}); se é o mesmo registro, use a chave do "
        "sistema",
        en="the system has nearly the same key, with other leading zeros, case, accents, spaces or "
        "a date that is not understood ({why}); if it is the same record, use the system's key",
    ),
    RowReason.WAS_CLOSED: Text(
        pt="foi exportada de um registro já baixado, encerrado ou cancelado ({why}), e seria um "
        "novo, em aberto",
        en="was exported from a record that is settled, closed or cancelled ({why}), and would be "
        "a new, open one",
    ),
    RowReason.NOT_LOOKED_UP: Text(
        pt="não foi possível procurá-la no sistema ({why})",
        en="could not be looked up in the system ({why})",
    ),
    RowReason.NO_KEY: Text(
        pt="não tem chave pela qual achar o seu registro", en="has no key to find its record"
    ),
    RowReason.SET_LATER: Text(
        pt="{why} só pode ser gravado em registro que já está no sistema",
        en="{why} can only be set on a record that is in the system",
    ),
    RowReason.NOT_IN_SYSTEM: Text(
        pt="não está no sistema, e este envio não inclui nada",
        en="is not in the system, and this upload creates nothing",
    ),
    RowReason.NOT_DELETED: Text(pt="não será excluído: {why}", en="is not deleted: {why}"),
    RowReason.NO_RECORD: Text(pt="não é um registro: {why}", en="is not a record: {why}"),
    RowReason.ERRORS: Text(pt="tem erros: {why}", en="has errors: {why}"),
    RowReason.REJECTED: Text(
        pt="foi rejeitada e não mudou desde então: {why}",
        en="was rejected and has not changed since: {why}",
    ),
    RowReason.SENT_OTHERWISE: Text(
        pt="já foi enviada com outra chave ({why})", en="was sent with another key ({why})"
    ),
    RowReason.CHANGED: Text(
        pt="o registro foi alterado ou removido depois do envio",
        en="the record was changed or removed after the upload",
    ),
    RowReason.SETTLED: Text(
        pt="o título já foi baixado, e a baixa teria de ser estornada antes",
        en="the title is already settled, and the settlement would have to be undone first",
    ),
    RowReason.NO_OPERATION: Text(
        pt="o sistema não tem como desfazer isto", en="the interface cannot undo this"
    ),
    RowReason.NOT_IDENTIFIED: Text(
        pt="não se sabe qual é o registro desta linha",
        en="the record of this row could not be identified",
    ),
}

_ADD_ONE_MORE = Text(
    pt='para incluir mais um: --again "motivo"',
    en='to add one more: --again "reason"',
    page=Text(
        pt="para incluir mais um, escreva o motivo em “Incluir de novo, de propósito”",
        en="to add one more, enter the reason under “Create again on purpose”",
    ),
)
_REMEDIES: Mapping[RowReason, Text] = {
    RowReason.CANNOT_CHANGE: Text(
        pt="altere manualmente no sistema", en="change it by hand in the system"
    ),
    RowReason.DIFFERS: Text(
        pt='para alterar o registro: --update; para incluir mais um: --again "motivo"',
        en='to change the record: --update; to add one more: --again "reason"',
        page=Text(
            pt="para alterar o registro, marque “Alterar registros que já existem com outros "
            "valores”; para incluir mais um, escreva o motivo em “Incluir de novo, de propósito”",
            en="to change the record, tick “Change records that exist with other values”; to add "
            "one more, enter the reason under “Create again on purpose”",
        ),
    ),
    RowReason.EMPTY_CELL: Text(
        pt="para apagar o valor: --clear",
        en="to clear the value: --clear",
        page=Text(
            pt="preencha-a ou, para apagar o valor, marque “Apagar no sistema o que está vazio na "
            "planilha”",
            en="fill it in or, to clear the value, tick “Clear in the system what is empty in the "
            "sheet”",
        ),
    ),
    RowReason.CLAIMED: Text(
        pt="para continuar: xlbridge resume {job}",
        en="to continue: xlbridge resume {job}",
        page=Text(pt="continue-o em “Envios”", en="continue it under “Uploads”"),
    ),
    RowReason.GONE: Text(
        pt='para incluí-la de novo: --again "motivo"',
        en='to create it again: --again "reason"',
        page=Text(
            pt="para incluí-la de novo, escreva o motivo em “Incluir de novo, de propósito”",
            en="to create it again, enter the reason under “Create again on purpose”",
        ),
    ),
    RowReason.UNKNOWN_NUMBER: Text(
        pt="para incluí-la, apague o número; se os números são de outro sistema: --foreign-numbers",
        en="to create it, clear the number; if the numbers are another system's: --foreign-numbers",
        page=Text(
            pt="para incluí-la, apague o número; se os números são de outro sistema, marque “Os "
            "números dos registros vêm de outro sistema: procurar só pelas chaves”",
            en="to create it, clear the number; if the numbers are another system's, tick “Record "
            "numbers are another system's: look up by keys only”",
        ),
    ),
    RowReason.TWO_RECORDS: Text(
        pt="corrija um dos dois; se os números são de outro sistema: --foreign-numbers",
        en="correct one of them; if the numbers are another system's: --foreign-numbers",
        page=Text(
            pt="corrija um dos dois; se os números são de outro sistema, marque “Os números dos "
            "registros vêm de outro sistema: procurar só pelas chaves”",
            en="correct one of them; if the numbers are another system's, tick “Record numbers are "
            "another system's: look up by keys only”",
        ),
    ),
    RowReason.NEAR_KEY: _ADD_ONE_MORE,
    RowReason.WAS_CLOSED: _ADD_ONE_MORE,
    RowReason.NOT_LOOKED_UP: Text(
        pt="para incluí-la assim mesmo: --create-unread",
        en="to create it anyway: --create-unread",
        page=Text(
            pt="para incluí-la assim mesmo, marque “Incluir também o que não dá para conferir no "
            "sistema”",
            en="to create it anyway, tick “Also create what cannot be looked up in the system”",
        ),
    ),
    RowReason.SET_LATER: Text(
        pt="inclua a linha sem esse valor e depois envie-o com --update",
        en="create the row without that value, then send it with --update",
        page=Text(
            pt="inclua a linha sem esse valor e depois envie-o com “Alterar registros que já "
            "existem com outros valores”",
            en="create the row without that value, then send it with “Change records that exist "
            "with other values”",
        ),
    ),
    RowReason.SENT_OTHERWISE: _ADD_ONE_MORE,
}
