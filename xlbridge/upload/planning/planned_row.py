"""Rows of plans of uploads, undos and processings, as planned, stored and shown.

Each has an action, and a reason if it is not written. See the product brief, Row actions.
"""

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from xlbridge.i18n import Text, joined, localized_number, untranslated
from xlbridge.resources import Column, Kind
from xlbridge.titles import sheet_row
from xlbridge.upload.journal_database import json_texts

if TYPE_CHECKING:
    from xlbridge.upload.lookup.snapshot import ItemDifference

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class RowAction(StrEnum):
    """Action on a row of a sheet, or on a record that is processed.

    ``text`` names it of ``n`` rows of a plan, ``count_text`` says their number, too; ``writes`` is
    False if they are not sent. ``is_of_record``: the row changes or deletes a record that exists.
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
        return self.why if self.remedy is None else joined((self.why, self.remedy), "; ")

    @property
    def remedy(self) -> Text | None:
        """Remedy for the row, None if nothing is offered."""
        return _REMEDIES.get(self)

    @property
    def is_of_sheet(self) -> bool:
        """True if the reason is in the sheet, independent of the system's records."""
        return self in (self.NO_RECORD, self.ERRORS, self.REJECTED, self.SENT_OTHERWISE)


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
        pt="foi exportada de um registro baixado, encerrado ou cancelado ({why}) e entraria aberta",
        en="was exported from a settled, closed or cancelled record ({why}) and would be open",
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


def plan_token(rows: int, digest: str) -> str:
    """Return the token ``ROWS:DIGEST8`` that confirms a plan: the rows to write and its digest."""
    return f"{rows}:{digest[:8]}"


StoredRow = tuple[int, str, str | None, Mapping[str, Any]]
"""Row of a plan as stored in the journal: its number, action and reason, and all else."""


class JobPlan(ABC):
    """Plan of what a job writes: rows of a sheet, reversals of earlier rows, or processings.

    Consent to it names exactly this: the number of ``writes`` and the digest.
    """

    rows: "Sequence[PlannedRow]"

    @property
    @abstractmethod
    def digest(self) -> str:
        """Digest of all that the plan writes."""

    @property
    def writes(self) -> int:
        """Number of rows that are written."""
        return sum(row.action.writes for row in self.rows)

    def to_journal(self) -> Iterator[StoredRow]:
        """Yield the rows as stored in the journal."""
        return (row.to_journal() for row in self.rows)

    @property
    def token(self) -> str:
        """Token that confirms exactly this plan: ``ROWS:DIGEST8``."""
        return plan_token(self.writes, self.digest)

    @property
    def note(self) -> dict[str, Any]:
        """Details of the event that records the plan."""
        return {"plan_digest": self.digest, "writes": self.writes}


@dataclass(frozen=True, slots=True)
class Difference:
    """Values of a column in which a row and its record differ: the sheet's and the system's.

    If the column is a list, ``items`` are the differences of its items.
    """

    yours: str | None
    theirs: str | None
    items: "Sequence[ItemDifference]" = field(default=(), compare=False)

    def shown(
        self, name: str, columns: Mapping[str, Column], *, titled: bool = False
    ) -> "Iterator[ShownDifference]":
        """Yield the differing values formatted for display, of a list only those of its items.

        ``name`` is the column's, ``columns`` are those of the resource, by path. Labels are the
        interface's names or, ``titled``, the columns' titles.
        """
        if not self.items:
            kind = None if name not in columns else columns[name].kind
            yours, theirs = _shown_value(self.yours, kind), _shown_value(self.theirs, kind)
            label = columns[name].title if titled and name in columns else untranslated(name)
            yield ShownDifference(name, label, yours, theirs, kind)
        for sheet, number, column, *values in self.items:
            if number is None:
                label, kind = untranslated(sheet), None
                first, second = (_ITEM_COUNT.format(n=int(count)) for count in values)
            else:
                kind = columns[f"{sheet}.{column}"].kind
                shown = columns[f"{sheet}.{column}"].title if titled else column
                label = _ITEM_LABEL.format(sheet=sheet, n=number + 1, column=shown)
                first, second = (_shown_value(value, kind) for value in values)
            yield ShownDifference(name, label, first, second, kind)


class ShownDifference(NamedTuple):
    """Difference formatted for display: its column, the label of the values, both values, and
    their kind."""

    column: str
    label: Text
    yours: Text
    theirs: Text
    kind: Kind | None

    @property
    def text(self) -> Text:
        """The difference in one line, with texts in quotes."""
        yours, theirs = (
            Text(pt="'{text}'", en="'{text}'").format(text=value)
            if self.kind is Kind.TEXT and value != _MISSING
            else value
            for value in (self.yours, self.theirs)
        )
        return Text(
            pt="{label}: planilha {yours}, sistema {theirs}",
            en="{label}: sheet {yours}, system {theirs}",
        ).format(label=self.label, yours=yours, theirs=theirs)


_MISSING = untranslated("–")
_ITEM_LABEL = Text(pt="{sheet}, item {n}, {column}", en="{sheet}, item {n}, {column}")
_ITEM_COUNT = Text(pt="{n} {n:item|itens}", en="{n} {n:item|items}")


def _shown_value(value: str | None, kind: Kind | None) -> Text:
    if value is None:
        return _MISSING
    if kind in {Kind.NUMBER, Kind.MONEY}:
        whole, _, cents = value.partition(".")
        is_short = kind is Kind.MONEY and len(cents) < 2 and whole.lstrip("-").isdigit()
        return localized_number(f"{whole}.{cents:0<2}" if is_short else value)
    if kind is Kind.DATE:
        try:
            return untranslated(f"{date.fromisoformat(value):%d/%m/%Y}")
        except ValueError:  # The system's value may not be a date.
            pass
    return untranslated(value)


CellContent = str | float
"""Content of an analyst's cell: a text or a number."""


class PlannedRow(NamedTuple):
    """Row of a sheet, by its Excel number, or a record by its ordinal number, with its action and
    the reason.

    ``record`` is the code of its record in the system; ``job`` another job that claims the row;
    ``why`` completes the reason, or is all that is said of the row; ``number`` is the system's own
    number in the row; ``wrong`` are the columns with errors, ``raw_cells`` the contents of those
    cells of them that could not be parsed, ``keys`` the digests of the row's business keys. A
    processing has read the record's ``status``, and the values that the system has ``assigned``.
    """

    row: int
    action: RowAction
    reason: RowReason | None = None
    record: str | None = None
    job: str | None = None
    why: Text | None = None
    differences: Mapping[str, Difference] = _NOTHING
    number: Mapping[str, Any] = _NOTHING
    wrong: Sequence[str] = ()
    raw_cells: Mapping[str, CellContent] = _NOTHING
    keys: Sequence[str] = ()
    status: str = ""
    assigned: Mapping[str, Any] = _NOTHING

    @property
    def yours(self) -> dict[str, str | None]:
        """Values of the row in the columns that differ."""
        return {name: pair.yours for name, pair in self.differences.items()}

    @property
    def theirs(self) -> dict[str, str | None]:
        """Values of the record in the columns that differ."""
        return {name: pair.theirs for name, pair in self.differences.items()}

    @property
    def is_created(self) -> bool:
        """True if the row becomes a new record."""
        return self.action is RowAction.CREATE or self.action is RowAction.UNREAD

    @property
    def text(self) -> Text | None:
        """Text of the reason, None if there is none."""
        return None if self.reason is None else _reason_text(self.reason, self.job, self.why)

    def shown_differences(
        self, columns: Mapping[str, Column], *, titled: bool = False
    ) -> Iterator[ShownDifference]:
        """Yield the differences formatted for display, as ``Difference.shown``."""
        for name, difference in self.differences.items():
            yield from difference.shown(name, columns, titled=titled)

    def why_text(self, columns: Mapping[str, Column]) -> str:
        """Return the reason without its remedy and the differences, by titles, as one line."""
        shown = self.shown_differences(columns, titled=True)
        differing = "; ".join(str(difference.text) for difference in shown)
        reason = None if self.reason is None else self.reason.why
        text = "" if reason is None else reason.format(job=self.job or "–", why=self.why or "–")
        return f"{text} ({differing})" if differing else str(text)

    def to_journal(self) -> StoredRow:
        """Return the row as stored in the journal."""
        detail = {name: value for name in _DETAILS if (value := getattr(self, name))}
        if self.differences:
            pairs = self.differences.items()
            detail["differences"] = {n: (pair.yours, pair.theirs, pair.items) for n, pair in pairs}
        # SQLite stores plain strings faster than members of enumerations.
        reason = None if self.reason is None else str(self.reason)
        return self.row, str(self.action), reason, detail

    @classmethod
    def of_journal(
        cls, row: int, action: str, reason: str | None, detail: Mapping[str, Any]
    ) -> Self:
        """Return the row stored in the journal."""
        known = {
            name: _STORED_OTHERWISE[name](value) if name in _STORED_OTHERWISE else value
            for name, value in detail.items()
        }
        return cls(row, RowAction(action), None if reason is None else RowReason(reason), **known)

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON for reports."""
        return {
            "row": sheet_row(self.row),
            "action": self.action.value,
            "reason": None if self.reason is None else self.reason.value,
            "record": self.record,
            "job": self.job,
            "message": None if self.reason is None else str(self.text),
            "differences": [
                {"column": column, "yours": difference.yours, "theirs": difference.theirs}
                for column, difference in self.differences.items()
            ],
        }


_DETAILS = PlannedRow._fields[PlannedRow._fields.index("record") :]
_STORED_OTHERWISE: Mapping[str, Callable[[Any], Any]] = {
    "why": Text.of_json,
    "differences": lambda pairs: {name: Difference(*pair) for name, pair in pairs.items()},
    "keys": tuple,
}
"""Details of a row that the journal stores as other types, and how these are read."""


@dataclass(frozen=True)
class RowPlan(JobPlan):
    """Planned rows of a sheet, in order, with the ``digests`` of their values.

    ``unread_reason`` says why some rows could not be looked up.
    """

    rows: Sequence[PlannedRow]
    digests: Sequence[str]
    unread_reason: Text | None = None

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of rows by action; deletions only if there are any."""
        counts = Counter(row.action for row in self.rows)
        return {
            action.value: counts[action]
            for action in RowAction
            if counts[action] or action not in {RowAction.DELETE, RowAction.PROCESS}
        }

    @property
    def note(self) -> dict[str, Any]:
        """Details of the event that records the plan."""
        note = {**super().note, "plan": self.counts, "not_records": self.not_records}
        why = self.unread_reason
        return note if why is None else {**note, "unread": why.languages}

    @cached_property
    def positions(self) -> list[int]:
        """Positions of the rows that are sent."""
        return [at for at, row in enumerate(self.rows) if row.action.writes]

    @property
    def not_records(self) -> int:
        """Number of rows that are not records."""
        return sum(row.reason is RowReason.NO_RECORD for row in self.rows)

    @cached_property
    def digest(self) -> str:
        """Digest of the actions and of the records' current values."""
        lines = json_texts(
            [
                [
                    row.action,
                    row.reason if row.action is RowAction.HELD else None,
                    digest,
                    row.record,
                    row.theirs if row.differences else {},
                ]
                for row, digest in zip(self.rows, self.digests, strict=True)
            ]
        )
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


@lru_cache(maxsize=1_000)
def _reason_text(reason: RowReason, job: str | None, why: Text | None) -> Text:
    return reason.text.format(job=job or "–", why=why or "–")
