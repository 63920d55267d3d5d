"""Uploads: submit a validated sheet as a job, that is plan, create and run it, with its evidence.

``Uploads.submit`` is the use case of commands, page, batches and Python callers. Its steps are
public too, for those who show something in between.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from xlbridge.client import Client
from xlbridge.errors import (
    AuthenticationFailed,
    InDoubt,
    TransportError,
    UsageError,
    XlbridgeError,
)
from xlbridge.i18n import Text, count_text
from xlbridge.processes import gc_paused
from xlbridge.resources import Catalogue, Mode, Resource
from xlbridge.upload.claims import (
    ClaimScope,
    Patience,
    RowClaims,
    repeat_while_outdated,
    require_reason,
)
from xlbridge.upload.context import UploadContext, job_lock
from xlbridge.upload.job import Job, JobSpec
from xlbridge.upload.journal import NewRequest
from xlbridge.upload.options import UploadOptions
from xlbridge.upload.payload import (
    SheetSource,
    frame_with_lists,
    payload_of,
    row_digests,
    sheet_digest,
    store_payload,
)
from xlbridge.upload.planning.corrected_rows import CorrectedRows, corrected_rows
from xlbridge.upload.planning.plan_builder import (
    PlannedSheet,
    changed_plan,
    may_be_sent,
    plan_source,
    refresh_plan,
)
from xlbridge.upload.requests import State
from xlbridge.upload.results.row_ledger import RowLedger, changed_ledger
from xlbridge.validation import ValidatedSheet
from xlbridge.workbook import WorkbookOrigin

if TYPE_CHECKING:
    from xlbridge.upload.lookup.links import LinkResolver
    from xlbridge.upload.undo import UndoPlan

_PLANNING = Text(
    pt="Linhas: {rows} · procurando os registros no sistema",
    en="Rows: {rows} · looking for the records in the system",
)
_PARTLY_APPLIED = Text(
    pt="Só uma parte foi gravada; para continuar: xlbridge resume {job}",
    en="Only a part was written; to continue: xlbridge resume {job}",
    page=Text(
        pt="Só uma parte foi gravada; continue {job} em Envios.",
        en="Only a part was written; continue {job} under Uploads.",
    ),
)
_REJECTED = frozenset({State.PARTIAL, State.REJECTED})
_KEPT_OPTIONS = ("update", "update_only", "delete", "clear", "foreign_numbers")
"""Options that an upload of corrected rows has if the first upload had them."""

_FOREIGN_NUMBERS = Text(
    pt="Nada foi enviado. Para que só as chaves contem, não esses números: --foreign-numbers; num "
    "plano, foreign_numbers: true.",
    en="Nothing was sent. For only the keys to count, not these numbers: --foreign-numbers; in a "
    "plan, foreign_numbers: true.",
    page=Text(
        pt="Nada foi enviado. Para que só as chaves contem, marque “Os números dos registros vêm "
        "de outro sistema” e veja o plano; ou escolha o outro sistema em Ambientes.",
        en="Nothing was sent. For only the keys to count, tick “Record numbers are another "
        "system's” and see the plan; or choose the other system under Environments.",
    ),
)
_HAS_ERRORS = Text(pt="{file} tem {n} {n:erro|erros}.", en="{file} has {n} {n:error|errors}.")


class InvalidSheet(UsageError):
    """A sheet has errors and may not be sent; ``sheet`` has them, and those of its names."""

    FIX_FIRST: ClassVar = Text(
        pt="Nada foi enviado: corrija os erros primeiro.",
        en="Nothing was sent: fix the errors first.",
    )

    def __init__(self, sheet: ValidatedSheet) -> None:
        errors = sum(part.errors for part in sheet.with_children)
        super().__init__(_HAS_ERRORS.format(file=sheet.file, n=errors), self.FIX_FIRST)
        self.args = (sheet,)  # for pickle
        self.sheet = sheet


class Uploads:
    """Uploads to one environment, for commands, batches and Python callers.

    Nothing here needs a terminal: consent and progress are callbacks in the options. Modules that
    planning does not need are imported where they are used.
    """

    def __init__(self, context: UploadContext, client: Client) -> None:
        self._context = context
        self._client = client
        self._frames: dict[str, pd.DataFrame] = {}
        """Rows of the payloads stored last, which a run need not read again."""

    @cached_property
    def _links(self) -> "LinkResolver":
        from xlbridge.client.registries import Registries
        from xlbridge.upload.lookup.links import LinkResolver
        from xlbridge.upload.results.status_copy import SheetCodes

        codes = SheetCodes(self._context, self._client)
        return LinkResolver(Registries(self._client), codes.of, codes.patience)

    def with_codes(self, sheet: ValidatedSheet) -> ValidatedSheet:
        """Return a sheet with the codes of the records that its linked cells name.

        A name without a code is an error of its cell. Raises ``TransportError`` or
        ``AuthenticationFailed`` if the system cannot be reached.
        """
        if sheet.resource is None or sheet.resource.base is None:
            return sheet
        return self._links.fill_in(sheet)

    def rejected_upload(self, job_id: str | None) -> Job | None:
        """Return the upload that a sheet sent under ``job_id`` corrects, None if there is none.

        That is a whole upload with rejected rows. After an undo the whole sheet is sent, and so it
        is if the job is in another environment's journal.
        """
        journal = self._context.journal
        try:
            job = None if job_id is None else journal.job(job_id)
        except UsageError:
            return None
        if job is None or job.parent is not None or job.state not in _REJECTED:
            return None
        ledger = changed_ledger(journal, job)
        return job if ledger is None or ledger.undone(job) is None else None

    def rows_to_send(
        self,
        sheet: ValidatedSheet,
        options: UploadOptions,
        earlier: Job | None = None,
        *,
        in_place: bool = False,
    ) -> ValidatedSheet | CorrectedRows:
        """Return the rows of a sheet that an upload sends: all, or the corrected ones of an
        ``earlier`` upload to which the sheet belongs; record names are resolved to codes.

        ``in_place`` means the sheet that was sent, under another path. Raises ``InvalidSheet`` if
        the sheet has errors, ``NotRetriable`` if no row was corrected; ``TransportError`` or
        ``AuthenticationFailed`` if names cannot be looked up.
        """
        linked, _ = self._linked(sheet, options)
        if earlier is None:
            return linked
        from xlbridge.upload.results.result_files import ensure_evidence

        job = ensure_evidence(self._context, earlier)
        return corrected_rows(self._context, job, linked, in_place=in_place)

    def _linked(
        self, sheet: ValidatedSheet, options: UploadOptions
    ) -> tuple[ValidatedSheet, Resource]:
        """Return a sheet with the codes of its names, and its resource.

        Raises ``InvalidSheet`` if the sheet, or a name in it, has an error that cannot be set aside
        with its row.
        """
        if sheet.resource is None or not may_be_sent(sheet, good_rows=options.good_rows):
            raise InvalidSheet(sheet)
        linked = self.with_codes(sheet)
        if linked is not sheet and not may_be_sent(linked, good_rows=options.good_rows):
            raise InvalidSheet(linked)
        return linked, linked.resource or sheet.resource

    def plan(self, rows: ValidatedSheet | CorrectedRows, options: UploadOptions) -> PlannedSheet:
        """Plan a sheet, or corrected rows, as ``create`` would record it.

        Nothing is written. Raises what ``create`` raises.
        """
        source, options = self._source(rows, options)
        return self._plan(source, options)

    def _plan(
        self, source: SheetSource, options: UploadOptions, *, store: bool = False
    ) -> PlannedSheet:
        """Plan the rows of a sheet; with ``store`` also store their payload."""
        options.progress(_PLANNING.format(rows=count_text(len(source.rows))))
        own, client, count = self._context, self._client, options.on_count
        patience = own.patience_with(client, options.settle_seconds, options.sleep)
        return plan_source(own, client, source, options, patience, store=store, on_count=count)

    def submit(
        self,
        rows: ValidatedSheet | CorrectedRows,
        options: UploadOptions,
        planned: PlannedSheet | None = None,
        *,
        on_created: Callable[[Job], object] = lambda _job: None,
    ) -> Job:
        """Upload a sheet, or corrected rows: plan them, record the job, run it, write its evidence.

        ``on_created`` is called with the job before anything is sent. Raises what ``create`` and
        ``run`` raise.
        """
        job = self.create(rows, options, planned)
        on_created(job)
        return self.run(job, options)

    def create(
        self,
        rows: ValidatedSheet | CorrectedRows,
        options: UploadOptions,
        planned: PlannedSheet | None = None,
    ) -> Job:
        """Plan rows, store their payload and record a job, before anything is sent.

        ``planned`` is a plan by ``plan``, which is recorded unless it is too old by now.
        A sheet with more than ``chunk_rows`` rows to send becomes a parent with parts. An unsent
        job with the same plan is reused. Corrected rows are sent in the mode of the earlier upload.
        Raises ``UsageError`` if ``again`` is empty, the resource does not accept the mode, or the
        workbook has record numbers of another system; and what ``rows_to_send`` raises.
        """
        source, options = self._source(rows, options)
        names = (child.sheet for child in source.resource.children)
        lists = any(name in source.frame and source.frame[name].notna().any() for name in names)
        if isinstance(rows, CorrectedRows):
            retry_of, origins, mode = rows.job.id, rows.origins, rows.job.import_mode
            mode = Mode.RECORDS if lists else mode
        else:
            retry_of, origins = None, {}
            mode = options.choose_mode(source.resource, with_lists=lists).mode
        note = {"planning": options.to_journal()}
        ready = [] if planned is None or planned.is_old(self._context.journal.now()) else [planned]

        def create() -> Job:
            # Repeated if other jobs claim rows in the meantime.
            current = ready.pop() if ready else self._plan(source, options, store=True)
            with gc_paused():
                # An unsent retry is replaced, not reused, since it may have other origins.
                return self._record(
                    *(current, mode, options.chunk_rows, note, retry_of, origins),
                    reuse=retry_of is None,
                )

        return repeat_while_outdated(create)

    def has_sent_rows(self, job: Job, sheet: ValidatedSheet) -> bool:
        """Return whether a sheet has exactly the rows of a job, or of its retries.

        Rows may have moved only if all of them are as in the job.
        """
        if sheet.resource is None or not sheet.ok:
            return False
        digests = row_digests(sheet.resource, frame_with_lists(sheet))
        if sheet_digest(digests) == job.spec.digest:
            return True
        known: defaultdict[int, set[str]] = defaultdict(set)
        for attempt in RowLedger.of(self._context.journal, job).sent_attempts:
            source = SheetSource.of_job(self._context, attempt)
            sent = row_digests(source.resource, source.frame)
            origins = self._context.journal.changes.origins(attempt.id)
            for row, digest in zip(source.rows, sent, strict=True):
                known[origins.get(row, row)].add(digest)
        now = dict(zip(sheet.record_rows, digests, strict=True))
        return now.keys() == known.keys() and all(now[row] in known[row] for row in now)

    def interrupted(self, sheet: ValidatedSheet) -> Job | None:
        """Return the unfinished upload of exactly these rows to this system, None if there is none.

        A script that is run again after a crash continues it, instead of finding its own rows
        claimed.
        """
        if sheet.resource is None:
            return None
        scope = ClaimScope(self._client.identity, sheet.resource.name)
        jobs = self._context.journal.jobs_of_file(scope, sheet.file, sheet.sheet)
        unfinished = (job for job in jobs if job.parent is None and not job.state.is_final)
        return next((job for job in unfinished if self.has_sent_rows(job, sheet)), None)

    def plan_undo(self, job: Job, *, sleep: Callable[[float], None] = time.sleep) -> "UndoPlan":
        """Plan the undo of a job, without writing anything.

        ``sleep`` waits for records that are shown late. Raises ``UsageError`` if the job is not
        finished, is a part or itself an undo, belongs to another system, or has an unfinished undo;
        ``RemoteRejected``, ``TransportError`` or ``AuthenticationFailed`` if the system cannot be
        read.
        """
        from xlbridge.upload.undo import plan_undo

        patience = self._context.patience_with(self._client, sleep=sleep)
        return plan_undo(self._context, self._client, job, patience)

    def create_undo(self, plan: "UndoPlan") -> Job:
        """Record the job of an undo, whose plan has rows to reverse."""
        from xlbridge.upload.undo import create_undo

        return create_undo(self._context, self._client, plan)

    def run(self, job: Job, options: UploadOptions) -> Job:
        """Run a job as far as possible, and write its evidence.

        A finished job is returned as it is, without a connection. Raises ``UsageError`` if the job
        belongs to another environment or is run by another process, or nothing of it was sent and
        its workbook has changed since the plan; ``AuthenticationFailed`` or
        ``TransportError`` if nothing was applied and the job can be resumed; ``InDoubt`` if the
        connection is lost while the outcome is awaited, or if only a part of the job was applied.
        The notes of an error name the command that continues.
        """
        from xlbridge.upload.results.result_files import ensure_evidence
        from xlbridge.upload.run_context import RunContext
        from xlbridge.upload.runner import run_job

        own = self._context
        patience = own.patience_with(self._client, options.settle_seconds, options.sleep)
        if not job.state.is_final:
            job.require_system(self._client.identity, self._client.target.profile)
        if job.state.is_unsent and job.parent is None and not job.is_task:
            job.require_planned_file()
            if job.plan_is_old(own.journal.now()):
                job = self._with_current_plan(job, options, patience)
        context = RunContext(
            own.settings, own.catalogue, own.journal, self._client, options, patience, self._frames
        )
        try:
            with job_lock(self._context.settings.home, job.whole):
                job = self._context.journal.job(job.id)
                try:
                    ended = run_job(context, job)
                except (TransportError, AuthenticationFailed) as error:
                    if not self._context.journal.changes.has_accepted(job.id):
                        raise
                    hint = _PARTLY_APPLIED.format(job=job.arguments())
                    raise InDoubt(error.message, hint) from error
                return ensure_evidence(self._context, ended, self._client)
        except XlbridgeError as error:
            error.add_note(f"xlbridge resume {job.arguments()}")
            raise

    def _source(
        self, rows: ValidatedSheet | CorrectedRows, options: UploadOptions
    ) -> tuple[SheetSource, UploadOptions]:
        """Return the source of rows; options of corrected ones include those of the first upload.

        Raises ``UsageError`` if options are wrong or the numbers of the rows are another system's,
        and what ``rows_to_send`` raises.
        """
        require_reason(options.again)
        sheet, resource = self._linked(
            rows.sheet if isinstance(rows, CorrectedRows) else rows, options
        )
        source = SheetSource.of_sheet(sheet, resource)
        if isinstance(rows, CorrectedRows):
            source = replace(source, set_aside={**rows.set_aside, **source.set_aside})
            first = UploadOptions.of_job(rows.job)
            kept = {name: getattr(options, name) or getattr(first, name) for name in _KEPT_OPTIONS}
            options = replace(options, **kept)
        if options.delete:
            _require_deletable(resource, options, self._context.catalogue)
        if options.updates and resource.read_back is None:
            raise _not_changeable(resource)
        declared = () if resource.read_back is None else resource.read_back.number_columns
        own = [name for name in declared if name in sheet.numbers]
        if options.foreign_numbers:
            source = replace(source, numbers=sheet.numbers.drop(columns=own))
        elif own and sheet.numbers[own].notna().any(axis=None):
            client = self._client
            WorkbookOrigin.require_system(
                sheet.file, client.identity, client.target.profile, _FOREIGN_NUMBERS
            )
        return source, options

    def _with_current_plan(self, job: Job, options: UploadOptions, patience: Patience) -> Job:
        """Return a job whose plan is old with a current one, or a new job that replaces it."""
        options.progress(_PLANNING.format(rows=count_text(len(job.spec.rows))))
        planned = changed_plan(self._context, self._client, job, patience)
        if planned is None:
            return self._context.journal.job(job.id)
        kept: dict[str, Any] = {"planning": job.notes.planning, "import_mode": job.import_mode}
        journal = self._context.journal
        parts = journal.parts_of(job)
        sizes = [len(part.spec.rows) for part in parts if part.spec.mode is job.import_mode]
        origins, size = journal.changes.origins(job.id), max(sizes, default=None)
        current = self._record(planned, job.import_mode, size, kept, job.spec.retry_of, origins)
        # The old job is abandoned even if the new one sends none of its rows.
        for one in [*([journal.job(job.id)] if parts else ()), *journal.requests_of(job)]:
            if one.state.is_unsent:
                journal.record(one, State.ABANDONED, replaced_by=current.id)
        return current

    def _record(
        self,
        planned: PlannedSheet,
        mode: Mode,
        chunk_rows: int | None,
        note: Mapping[str, Any],
        retry_of: str | None,
        origins: Mapping[int, int],
        *,
        reuse: bool = False,
    ) -> Job:
        """Store the payloads of a plan, and record its job; ``reuse`` an unsent job like it.

        ``origins`` are the numbers of the rows in the sheet of the first job, if they differ.
        """
        journal = self._context.journal
        self._frames.clear()
        positions, rows = planned.plan.positions, planned.plan.rows
        change = planned.source.resource.change
        # Records are changed and deleted one by one, unless imports can do that.
        one_by_one = not mode.channel.by_record and change is not None and not change.by_import
        by_record = [at for at in positions if one_by_one and rows[at].action.is_of_record]
        in_mode = sorted({*positions}.difference(by_record))
        size = chunk_rows or len(in_mode) or 1
        groups = [(mode, in_mode[at : at + size]) for at in range(0, len(in_mode), size)]
        if by_record or not groups:
            groups.append((Mode.RECORDS if by_record else mode, by_record))
        requests = [self._request(planned, *group) for group in groups]
        spec = requests[0].spec
        if not mode.channel.writes:
            spec = replace(spec, mode=mode)
        if len(requests) > 1:
            sent = tuple(planned.source.rows[at] for at in positions)
            spec = replace(spec, mode=mode, rows=sent, payload="")
        unsent = journal.find_unsent(spec, [len(request.spec.rows) for request in requests])
        target = self._client.target.to_json()
        source = planned.source
        kept = ("file_hash", "titles", "named", "words", "links")
        of_sheet = {name: getattr(source, name) for name in kept}
        note = {**of_sheet, "import_mode": mode, "target": target, **note}
        if reuse and unsent is not None and unsent.notes.plan_digest == planned.plan.digest:
            return refresh_plan(self._context, unsent, planned, note)
        all_rows = spec.payload
        if not all_rows or len(positions) < len(rows):
            all_rows = self._payload_of(planned, range(len(rows)))
        return self._context.create_job(
            replace(spec, planned=all_rows, retry_of=retry_of),
            requests,
            planned.plan,
            note,
            planned.claimed,
            planned.elsewhere,
            origins,
        )

    def _request(self, planned: PlannedSheet, mode: Mode, positions: Sequence[int]) -> NewRequest:
        """Store the payload of the rows at the given positions; return the request to record."""
        source, target = planned.source, self._client.target
        spec = JobSpec(
            profile=target.profile,
            resource=source.resource.name,
            mode=mode,
            file=str(source.file),
            sheet=source.sheet,
            digest=sheet_digest(planned.plan.digests),
            payload=self._payload_of(planned, positions),
            rows=tuple(source.rows[at] for at in positions),
            columns=source.columns,
            system=self._client.identity,
        )
        plan = planned.plan
        claims = RowClaims(
            [plan.digests[at] for at in positions], [plan.rows[at].keys for at in positions]
        )
        before = [planned.snapshot[at] for at in positions]
        return NewRequest(spec, claims, before, source.items)

    def _payload_of(self, planned: PlannedSheet, positions: Sequence[int]) -> str:
        """Store the payload of the rows at the given positions, unless that has been done."""
        source, content, frame = planned.source, planned.payload, planned.source.frame
        if content is None or len(positions) < len(planned.plan.rows):
            frame = frame.iloc[list(positions)].reset_index(drop=True)
            payload = payload_of(source.resource, frame)
            content = store_payload(self._context, payload)
        self._frames[content] = frame
        return content


def _require_deletable(resource: Resource, options: UploadOptions, catalogue: Catalogue) -> None:
    """Raise ``UsageError`` if the interface does not delete records of a resource, or another
    option asks for something else."""
    if resource.change is None or resource.change.delete_name is None:
        deletable = [
            one.name for one in catalogue.values() if one.change and one.change.delete_name
        ]
        raise UsageError(
            Text(
                pt="A interface não exclui registros de {resource}.",
                en="The interface does not delete records of {resource}.",
            ).format(resource=resource.name),
            Text(pt="Exclui os de: {names}.", en="It deletes those of: {names}.").format(
                names=", ".join(deletable)
            ),
        )
    others = [f"--{name.replace('_', '-')}" for name in _WITHOUT_DELETE if getattr(options, name)]
    if others:
        raise UsageError(
            Text(
                pt="--delete não combina com {others}.", en="--delete does not go with {others}."
            ).format(others=", ".join(others)),
            Text(pt="Nada foi enviado.", en="Nothing was sent."),
        )


def _not_changeable(resource: Resource) -> UsageError:
    """Return the error that no record of a resource can be found, to be changed by a row.

    A change might empty what the system does not show, and nothing would tell. Some records can be
    reversed and sent anew, by a processing that has the path of their creation.
    """
    from xlbridge.upload.process_kinds import KINDS  # Few uploads need it.

    create = resource.create
    kinds = (
        kind for kind in KINDS.values() if create and kind.process.path == create.operation.path
    )
    kind = next(kinds, None)
    hint = Text(
        pt="Sem --update, cada linha inclui um registro novo.",
        en="Without --update, each row creates a new record.",
        page=Text(
            pt="Sem “Alterar registros que já existem com outros valores”, cada linha inclui um "
            "registro novo.",
            en="Without “Change records that exist with other values”, each row creates a new "
            "record.",
        ),
    )
    if kind is not None:
        hint = Text(
            pt="Exporte o histórico (xlbridge export {listing} --product N), deixe no arquivo só "
            "os que estão errados e estorne-os inteiros: xlbridge process {name} ARQUIVO. Depois "
            "envie as linhas certas sem --update: xlbridge upload ARQUIVO",
            en="Export the history (xlbridge export {listing} --product N), leave only the wrong "
            "ones in the file and reverse them as a whole: xlbridge process {name} FILE. Then "
            "send the right rows without --update: xlbridge upload FILE",
            page=Text(
                pt="Exporte o histórico em Exportar e estorne em Processar os que estão errados, "
                "inteiros. Depois envie as linhas certas sem “Alterar registros que já existem "
                "com outros valores”.",
                en="Export the history under Export, and reverse the wrong ones under Process, as "
                "a whole. Then send the right rows without “Change records that exist with other "
                "values”.",
            ),
        ).format(name=kind.name, listing=kind.listing)
    return UsageError(
        Text(
            pt="Registros de {resource} não são alterados por planilha: o sistema não mostra quais "
            "são, nem todos os seus campos, e não haveria como comparar nem conferir a alteração.",
            en="Records of {resource} are not changed by a sheet: the system shows neither which "
            "they are nor all their fields, so a change could not be compared or checked.",
        ).format(resource=resource.name),
        hint,
    )


_WITHOUT_DELETE = ("again", "update", "update_only", "clear", "create_unread")
