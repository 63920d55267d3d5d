"""Consent to an upload: the request with the plan and its token, and non-interactive answers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from xlbridge.errors import UsageError
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Column, Mode
from xlbridge.upload.job import Job
from xlbridge.upload.planning.planned_row import PlannedRow, token_line
from xlbridge.upload.planning.row_reasons import RowAction, RowReason, action_counts
from xlbridge.upload.results.report import mode_name
from xlbridge.upload.results.undo_report import left_lines

if TYPE_CHECKING:
    from xlbridge.client import Target
    from xlbridge.upload.context import UploadContext
    from xlbridge.upload.processing.planned_record import PlannedRecord

_SHOWN_ROWS = 5
"""Rows that the plan names for each reason."""


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """Request for consent to the first write of an upload.

    ``job`` is the parent if the sheet is sent in parts. ``target`` is the remote system,
    ``planned`` the plan of all rows of the sheet, ``columns`` those of its resource; a processing
    has ``records`` instead of rows.
    """

    job: Job
    target: "Target"
    planned: Sequence[PlannedRow]
    records: Sequence["PlannedRecord"] = ()
    columns: Mapping[str, Column] = field(default_factory=dict)

    @classmethod
    def of(cls, context: "UploadContext", job: Job, target: "Target") -> Self:
        """Return the request for a job, with its stored plan."""
        journal = context.journal
        if job.spec.mode is not Mode.PROCESS:
            columns = context.catalogue.named(job.spec.resource).by_path
            return cls(job, target, journal.plan_of(job), columns=columns)
        # Imported here, since it loads operations that other commands do not need.
        from xlbridge.upload.processing.planned_record import planned_records

        return cls(job, target, (), planned_records(journal, job))

    @property
    def token(self) -> str:
        """Token that confirms exactly these actions: ``ROWS:DIGEST8``."""
        return self.job.token

    def lines(self, *, all_rows: bool = False) -> Iterator[Text]:
        """Yield the lines of the plan, ending with the token.

        With ``all_rows`` every row that is not created is named.
        """
        if self.job.undo_of is not None:
            yield from _undo_lines(self)
            return
        if self.job.spec.mode is Mode.PROCESS:
            from xlbridge.upload.processing.report import process_plan_lines

            hidden = self.job.last("hidden")
            yield from process_plan_lines(
                self.job.spec.resource, self.target, self.records, self.token, hidden
            )
            return
        spec, previewed = self.job.spec, self.job.last("previewed")
        yield Text(
            pt="Plano: {resource} para {place} · linhas: {rows} · modo {mode}{parts}",
            en="Plan: {resource} to {place} · rows: {rows} · mode {mode}{parts}",
        ).format(
            rows=self.job.row_counts["read"],
            resource=spec.resource,
            place=self.target.label,
            mode=mode_name(spec.mode),
            parts=_parts_text(self.job),
        )
        if previewed is not None:
            yield Text(
                pt="  prévia do sistema · linhas lidas: {rows}",
                en="  preview by the system · rows read: {rows}",
            ).format(rows=previewed)
        yield from _plan_lines(self.job, self.planned, self.columns, all_rows=all_rows)
        if not self.job.spec.rows:
            return
        yield token_line(self.token)


def _undo_lines(request: ConsentRequest) -> Iterator[Text]:
    yield Text(
        pt="Plano: desfazer o envio {job} em {place} · linhas a desfazer: {rows}; "
        "não desfeitas: {left}",
        en="Plan: undo the upload {job} in {place} · rows to reverse: {rows}; not reversed: {left}",
    ).format(
        job=request.job.undo_of,
        place=request.target.label,
        rows=len(request.job.spec.rows),
        left=len(request.job.last("left") or ()),
    )
    yield from left_lines(request.job)
    yield token_line(request.token)


def _plan_lines(
    job: Job, planned: Sequence[PlannedRow], columns: Mapping[str, Column], *, all_rows: bool
) -> Iterator[Text]:
    """Yield the counts of a plan, then the rows that are not created, grouped by reason."""
    plan = job.last("plan")
    if plan is None:
        return
    yield untranslated("  {counts}").format(counts=" · ".join(map(str, action_counts(plan))))
    if plan[RowAction.UNREAD] and (unread := job.last("unread")):
        yield Text(pt="  sem conferir: {why}", en="  without a look-up: {why}").format(
            why=Text(**unread)
        )
    not_created = [row for row in planned if not row.is_created]
    faulty = sum(row.reason is RowReason.ERRORS for row in not_created)
    if faulty:
        yield Text(
            pt="  {good} {good:linha boa|linhas boas} a enviar; {faulty} com erros, que "
            "{faulty:vai|vão} para o arquivo das linhas rejeitadas",
            en="  {good} good {good:row|rows} to send; {faulty} with errors, which "
            "{faulty:goes|go} into the rejects workbook",
        ).format(good=job.last("writes") or 0, faulty=faulty)
    yield from reason_lines(not_created, columns, all_rows=all_rows)


def reason_lines(
    planned: Iterable[PlannedRow], columns: Mapping[str, Column], *, all_rows: bool = False
) -> Iterator[Text]:
    """Yield the rows of a plan, grouped by reason, with the columns that differ.

    The first rows of each group are named, with ``all_rows`` all of them.
    """
    by_reason: dict[tuple[RowAction, RowReason | None], list[PlannedRow]] = {}
    for row in planned:
        by_reason.setdefault((row.action, row.reason), []).append(row)
    for rows in by_reason.values():
        yield from _lines_of_reason(rows, columns, len(rows) if all_rows else _SHOWN_ROWS)


def _lines_of_reason(
    rows: Sequence[PlannedRow], columns: Mapping[str, Column], most: int
) -> Iterator[Text]:
    """Yield a reason with the numbers of its rows, and details of the first ones."""
    first = rows[0]
    reasons = {str(row.text) for row in rows}
    reason = first.text if len(reasons) == 1 or first.reason is None else first.reason.summary
    if first.action is RowAction.UPDATE:
        reason = Text(pt="mudam no sistema", en="change in the system")
    is_one_held = first.action is RowAction.HELD and len(rows) == 1
    yield Text(
        pt="  {action}, {n:linha|linhas} {shown}{more}: {reason}",
        en="  {action}, {n:row|rows} {shown}{more}: {reason}",
    ).format(
        action=_ONE_HELD if is_one_held else _ACTION_NAMES[first.action],
        n=len(rows),
        shown=", ".join(str(row.row) for row in rows[:most]),
        more=", …" if len(rows) > most else "",
        reason=reason or "–",
    )
    for row in rows[:most]:
        if len(reasons) > 1:
            yield Text(pt="    linha {row}: {text}", en="    row {row}: {text}").format(
                row=row.row, text=row.why or row.text or "–"
            )
        for differing in row.difference_texts(columns):
            yield Text(pt="    linha {row}, {text}", en="    row {row}, {text}").format(
                row=row.row, text=differing
            )


_ONE_HELD = Text(pt="retida", en="held")
_ACTION_NAMES: dict[RowAction, Text] = {
    RowAction.UPDATE: Text(pt="a alterar", en="to update"),
    RowAction.UNCHANGED: Text(pt="sem alteração", en="unchanged"),
    RowAction.HELD: Text(pt="retidas", en="held"),
}


Consent = Callable[[ConsentRequest], bool]
"""Answers a request for consent; False abandons the upload before anything is sent."""

_HOW_TO_CONFIRM = Text(
    pt="Nada foi enviado. Confira o plano; a confirmação deste envio é {token}.",
    en="Nothing was sent. Check the plan; the confirmation of this upload is {token}.",
)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Consent to exactly the rows that a token confirms, even in production."""

    token: str

    def __call__(self, request: ConsentRequest) -> bool:
        """Agree. Raises ``UsageError`` if the token does not match."""
        if self.token.strip().casefold() == request.token:
            return True
        raise UsageError(
            Text(
                pt="A confirmação {token!r} não é a deste envio, que tem {rows} "
                "{rows:linha|linhas}.",
                en="The confirmation {token!r} does not match this upload, which has {rows} "
                "{rows:row|rows}.",
            ).format(token=self.token, rows=request.job.last("writes") or 0),
            _HOW_TO_CONFIRM.format(token=request.token),
        )


@dataclass(frozen=True, slots=True)
class ApproveAll:
    """Consent to any rows, except in production."""

    def __call__(self, request: ConsentRequest) -> bool:
        """Agree. Raises ``UsageError`` if the target is a production system."""
        if not request.target.production:
            return True
        raise UsageError(
            Text(
                pt="{profile} é um ambiente de produção: o envio precisa da confirmação das "
                "linhas e do digest.",
                en="{profile} is a production environment: the upload needs the confirmation of "
                "its rows and digest.",
            ).format(profile=request.target.profile),
            _HOW_TO_CONFIRM.format(token=request.token),
        )


def _parts_text(job: Job) -> Text | str:
    return (
        Text(pt=", em {n} {n:parte|partes}", en=", in {n} {n:part|parts}").format(n=job.parts)
        if job.parts
        else ""
    )
