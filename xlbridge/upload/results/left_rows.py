"""Rows that an undo leaves: the reasons, and the lines of reports."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from xlbridge.i18n import Text, untranslated
from xlbridge.upload.job import Job

_SHOWN_ROWS = 10


class LeftReason(StrEnum):
    """Reason why a row is not reversed, with a stable code."""

    CHANGED = "changed"
    SETTLED = "settled"
    NO_OPERATION = "no-operation"
    NOT_IDENTIFIED = "not-identified"

    @property
    def text(self) -> Text:
        """Explanation, with what to do by hand."""
        return _BY_HAND.format(reason=_TEXTS[self])


_TEXTS: Mapping[LeftReason, Text] = {
    LeftReason.CHANGED: Text(
        pt="o registro foi alterado ou removido depois do envio",
        en="the record was changed or removed after the upload",
    ),
    LeftReason.SETTLED: Text(
        pt="o título já foi baixado, e a baixa teria de ser estornada antes",
        en="the title is already settled, and the settlement would have to be reversed first",
    ),
    LeftReason.NO_OPERATION: Text(
        pt="a interface não tem como desfazer isto", en="the interface cannot reverse this"
    ),
    LeftReason.NOT_IDENTIFIED: Text(
        pt="não se sabe qual é o registro desta linha",
        en="the record of this row could not be identified",
    ),
}
_BY_HAND = Text(
    pt="{reason}; confira e desfaça manualmente no sistema",
    en="{reason}; check it in the system and reverse it by hand",
)


@dataclass(frozen=True, slots=True)
class LeftGroup:
    """Rows that are not reversed for the same reason."""

    message: str
    rows: Sequence[int]

    @property
    def text(self) -> Text:
        """The reason, with the number of rows and the first of them."""
        return Text(
            pt="{n} {n:linha não desfeita|linhas não desfeitas}: {message} ({n:linha|linhas} "
            "{rows}{more})",
            en="{n} {n:row|rows} not reversed: {message} ({n:row|rows} {rows}{more})",
        ).format(
            n=len(self.rows),
            message=self.message,
            rows=", ".join(map(str, self.rows[:_SHOWN_ROWS])),
            more=", …" if len(self.rows) > _SHOWN_ROWS else "",
        )


def left_rows(job: Job) -> list[tuple[int, LeftReason, str]]:
    """Return the rows that an undo does not reverse: number, reason and message."""
    planned = [(row, LeftReason(code)) for row, code in job.last("left") or ()]
    left = [(row, reason, str(reason.text)) for row, reason in planned]
    refused = [
        (rejected.row or 0, LeftReason.CHANGED, str(rejected.message))
        for rejected in job.verdict.rejected_rows
    ]
    return sorted([*left, *refused], key=lambda one: one[0])


def left_lines(job: Job) -> Iterator[Text]:
    """Yield lines about the rows undone before, and those to be undone by hand, by reason."""
    groups = grouped((row, message) for row, _reason, message in left_rows(job))
    texts = [*before_texts(job.last("undone_before") or {}), *(group.text for group in groups)]
    for text in texts:
        yield untranslated("  {text}").format(text=text)


def before_texts(undone_before: Mapping[str, int]) -> Iterator[Text]:
    """Yield a text for each earlier undo, with the number of rows that it has reversed."""
    for undo, count in undone_before.items():
        yield Text(
            pt="{n} {n:linha já foi desfeita|linhas já foram desfeitas} por {undo}",
            en="{n} {n:row was|rows were} already undone by {undo}",
        ).format(n=count, undo=undo)


def grouped(left: Iterable[tuple[int, str]]) -> list[LeftGroup]:
    """Return rows, with their numbers and messages, by message."""
    by_message: dict[str, list[int]] = {}
    for row, message in left:
        by_message.setdefault(message, []).append(row)
    return [LeftGroup(message, rows) for message, rows in by_message.items()]
