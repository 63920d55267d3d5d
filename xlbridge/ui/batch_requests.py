"""Requests about batches: the workbooks of a month, their plan, runs, corrections and proof.

A workbook of a batch is opened as a copy, and validated as its step does. The plan's own file is
only written when the user puts the corrected copy in its place; the earlier one is kept.
"""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from xlbridge.batch import (
    Batch,
    BatchConsentRequest,
    BatchOutcome,
    BatchRunOptions,
    batch_report,
    consent_report,
    month_tables,
    open_batch,
    open_known_batch,
    open_ledger,
)
from xlbridge.batch.plan_proposal import (
    WORKBOOK_ENDINGS,
    FoundWorkbook,
    find_workbooks,
    plan_name,
    write_plan,
)
from xlbridge.batch.plan_reader import with_month
from xlbridge.batch.plan_steps import file_digest
from xlbridge.errors import UsageError, XlbridgeError, require_folder
from xlbridge.files import make_private_folder, replace_atomically, report_write_errors
from xlbridge.i18n import Text, untranslated
from xlbridge.report_forms import Table
from xlbridge.resources import load_catalogue
from xlbridge.resources.references import BRANCH
from xlbridge.resources.yaml_files import read_document
from xlbridge.titles import OpenProgress, WorkProgress
from xlbridge.ui.answers import (
    download,
    error_json,
    get_route,
    in_background,
    post_route,
    table_json,
)
from xlbridge.ui.environment import BackgroundWork, PageConnection, RegistryNames
from xlbridge.ui.row_remarks import hint_on_page
from xlbridge.ui.sheet_editor import MAPPING, BatchUnit, SheetChoice, SheetEditor
from xlbridge.ui.sheet_forms import sheet_json
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import ApproveAll, ConsentRequest
from xlbridge.validation.mapping import read_mapping
from xlbridge.workbook import CellPosition, WorkbookMark

_MAX_BATCHES = 12
_PROVING = Text(
    pt="Gravando a prova: lendo o que está no sistema…",
    en="Writing the proof: reading what is in the system…",
)

_NEW_PLAN: dict[str, Any] = {"folder": str, "name": str, "month": str, "workbooks": list[str]}

OpenBatch = Callable[[Callable[[Text], None]], AbstractContextManager[Batch]]
"""Opens a batch with a function that shows messages."""


RunBatch = Callable[[Batch, BatchRunOptions], BatchOutcome]
"""Runs a batch, as ``xlbridge.batch.run_batch`` does."""

ProveBatch = Callable[[Batch, OpenProgress], BatchOutcome]
"""Writes the closing proof of a batch, as ``xlbridge.batch.prove_batch`` does."""


@dataclass(frozen=True, slots=True)
class BatchRequests:
    """Requests about the batches of the home's ledger; ``run_batch`` runs one, ``prove_batch``
    writes its proof."""

    workspace: Workspace
    remote: PageConnection
    work: BackgroundWork
    names: RegistryNames
    run_batch: RunBatch
    prove_batch: ProveBatch

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        start, run, prove = self.work.start, in_background(self.run), in_background(self.prove)
        return [
            get_route("/api/batches", self.batches),
            get_route("/api/batch-totals", self.totals, batch=str),
            get_route("/api/folder", self.folder, folder=str | None),
            post_route("/api/workbooks", self.workbooks, folder=str),
            post_route("/api/new-plan", self.new_plan, **_NEW_PLAN),
            post_route("/api/begin-batch", self.begin, start=start, plan=str, month=str | None),
            post_route("/api/batch-unit", self.open_unit, batch=str, step=str, unit=str),
            post_route("/api/replace-unit", self.replace_unit, of_sheet=True),
            post_route("/api/batch-run", run, start=start, batch=str, token=str | None),
            post_route("/api/batch-proof", prove, start=start, batch=str),
            get_route("/api/proof", self.proof, batch=str, file=str),
        ]

    def batches(self) -> dict[str, Any]:
        """Return the batches with the current state of their steps, without calling a system."""
        batches = []
        titled = self.workspace.catalogue.with_titles
        with open_ledger(self.remote.base, creates=False) as ledger:
            latest = ledger.batches()[:_MAX_BATCHES]
        for record in latest:
            document: dict[str, Any] = {"batch": record.id, "plan": str(record.plan)}
            try:
                with self._opened(record.id) as batch:
                    outcome = BatchOutcome.of(batch)
                    forms = batch_report(batch, outcome)
                    report, shown = forms.report(), forms.document()
                    table = table_json(report.tables[0])
                    for line in table["lines"]:
                        line["below"] = list(map(titled, line["below"]))
                    verdict = str(report.verdict).removeprefix("· ")
                    document |= shown | {"verdict": verdict, "table": table}
                    document["proofs"] = [_proof_json(path) for path in outcome.proof_files(batch)]
            except XlbridgeError as error:
                document |= {"steps": [], "error": error_json(error)}
            batches.append({**document, "created_at": f"{record.created_at:%d/%m/%Y %H:%M}"})
        return {"batches": batches}

    def totals(self, batch: str) -> dict[str, Any]:
        """Return the control totals of a batch: of the month, then of each step."""
        with self._opened(batch) as opened:

            def known_branches(profile: str | None) -> Mapping[str, str]:
                settings = opened.environments.context(profile).settings
                return self.names.known(BRANCH, settings)

            tables = month_tables(opened, BatchOutcome.of(opened).steps, known_branches)
        return {"totals": list(map(table_json, tables))}

    def folder(self, folder: str | None) -> dict[str, Any]:
        """Return the folders, plans and the number of workbooks in a folder of this computer."""
        path = (folder or "").strip()
        return _folder_json(Path(path) if path else Path.home())

    def workbooks(self, folder: str) -> dict[str, Any]:
        """Return what the workbooks of a folder are, to make a plan of them."""
        catalogue = self.workspace.catalogue
        found = find_workbooks(Path(folder), self.remote.settings)
        return {
            "name": plan_name(_MONTH.sub("", Path(folder).name)) or str(_PLAN_NAME),
            "workbooks": [
                {
                    "key": _key(book),
                    "file": book.file,
                    "sheet": book.sheet,
                    "title": None if known is None else str(known.title),
                    "rows": book.rows,
                    "errors": book.errors,
                    "problem": None if book.problem is None else str(book.problem),
                }
                for book in found
                for known in [catalogue.get(book.resource or "")]
            ],
        }

    def new_plan(
        self, folder: str, name: str, month: str, workbooks: Sequence[str]
    ) -> dict[str, Any]:
        """Write the plan of a month for the chosen workbooks of a folder."""
        found = find_workbooks(Path(folder), self.remote.settings)
        books = [book for book in found if _key(book) in workbooks]
        written = write_plan(Path(folder), name, month, books, self.workspace.catalogue)
        return {"plan": str(written)}

    def begin(self, plan: str, month: str | None) -> Callable[[], None]:
        """Return the start of a plan's batch: check its workbooks, and ask for consent to send
        them."""
        parameters = with_month({}, month) if month else {}

        def opened(tell: Callable[[Text], None]) -> AbstractContextManager[Batch]:
            return open_batch(Path(plan), parameters, self.remote.base, tell)

        return partial(self._run, opened, "")

    def replace_unit(self, shown: str | None) -> dict[str, Any]:
        """Put the corrected copy of a batch's workbook in its place, and keep the earlier one."""
        editor = self.workspace.editor_for(shown)
        unit = editor.unit
        if unit is None:
            raise UsageError(_NO_UNIT)
        target = Path(unit.path)
        with editor.lock:
            if file_digest(target) != unit.sha256:
                raise UsageError(_CHANGED.format(file=target))
            corrected = self.workspace.new_folder() / target.name
            editor.save_in_place(corrected)
            if target.suffix.lower() in {".csv", ".ods"}:
                copied = self.workspace.read_file(
                    corrected, self.workspace.catalogue, editor.limits
                )
                copied.choose(editor.choice)
                if not editor.is_same_as(copied):
                    raise UsageError(_NOT_SAME.format(file=target.name))
            kept = self.workspace.settings.home / "replaced"
            make_private_folder(kept)
            backup = kept / f"{datetime.now():%Y%m%d-%H%M%S}-{target.name}"
            shutil.copyfile(target, backup)
            with replace_atomically(target, shared=True) as temporary:
                shutil.copyfile(corrected, temporary)
            editor.unit = replace(unit, sha256=file_digest(target))
            self.workspace.drop_edits(editor)
        return {"message": str(_REPLACED.format(file=target.name, kept=backup))}

    def prove(self, batch: str) -> None:
        """Write the closing proof of a batch as it is now."""
        remote = self.remote
        with remote.track("batch"):
            tell = remote.progress
            tell(_PROVING)
            with self._opened(batch, tell) as opened:
                outcome = self.prove_batch(opened, partial(_show_phase, remote, tell))
                remote.state.outcome = {**_outcome_json(opened, outcome), "asked": None}

    def proof(self, batch: str, file: str) -> Response:
        """Return a closing proof of a batch, a page or a workbook, by the name of its file."""
        with self._opened(batch) as opened:
            files = BatchOutcome.of(opened).proof_files(opened)
        return download(next((path for path in files if path.name == file), None))

    def open_unit(self, batch: str, step: str, unit: str) -> dict[str, Any]:
        """Open a copy of a batch's workbook, validated as its step does."""
        return sheet_json(self._open_unit(batch, step, unit))

    def _open_unit(self, name: str, step_name: str, unit: str) -> SheetEditor:
        with self._opened(name) as batch:
            book = batch.plan.find_workbook(step_name, unit)
            step, errors = book.step, batch.batch_errors(book)
            settings = batch.environments.settings
        folder = self.workspace.new_folder()
        path = folder / book.path.name
        shutil.copyfile(book.path, path)
        mapping = None
        if step.mapping is not None:
            shutil.copyfile(step.mapping.path, folder / MAPPING)
            mapping = read_mapping(folder / MAPPING)
        limits = settings.limits.with_csv(step.csv)
        if mapping is not None:
            limits = limits.with_headers([mapping])
        catalogue = load_catalogue(settings.schemas)
        editor = self.workspace.read_file(path, catalogue, limits)
        resource = None if mapping is not None else step.resource
        editor.choose(SheetChoice(resource, step.sheet, mapping, step.reading, step.links))
        editor.unit = BatchUnit(name, step_name, str(book.path), book.sha256)
        marks: dict[str, dict[CellPosition, str]] = {}
        for error in errors:
            said = f"{error.message} {hint_on_page(error.code, error.hint)}".strip()
            marks.setdefault(error.sheet, {})[error.row, error.column] = catalogue.with_titles(said)
        editor.set_refusals(marks)
        self.workspace.show(editor)
        return editor

    def run(self, batch: str, token: str | None) -> None:
        """Run the open steps of a batch.

        A run without a token sends nothing; its outcome includes the token to confirm.
        """
        self._run(partial(self._opened, batch), token or "")

    def _run(self, opened: OpenBatch, token: str) -> None:
        remote = self.remote
        unconfirmed: list[BatchConsentRequest | ConsentRequest] = []

        def consent(request: BatchConsentRequest | ConsentRequest) -> bool:
            if request.token != token:
                unconfirmed.append(request)
            return request.token == token

        with remote.track("batch"):
            tell = remote.progress
            options = BatchRunOptions(
                consent,
                UploadOptions(consent=ApproveAll(), progress=tell),
                consent_to_processing=consent,
                progress=partial(_show_phase, remote, tell),
            )
            self.workspace.note_batch(done=False)
            with opened(tell) as batch:
                outcome = self.run_batch(batch, options)
                if all(state.done for state in outcome.steps):
                    self.workspace.note_batch(done=True)
                sent = (one for one in outcome.steps if any(unit.jobs for unit in one.units))
                for profile in {one.step.profile for one in sent}:
                    self._branches(batch, profile)  # for the totals, which call no system
                remote.state.outcome = {
                    **_outcome_json(batch, outcome),
                    "asked": self._consent_json(batch, unconfirmed[0]) if unconfirmed else None,
                }

    def _branches(self, batch: Batch, profile: str | None) -> Mapping[str, str]:
        """Return the names of the branches in a step's environment, read now if need be."""
        where = batch.environments
        with suppress(XlbridgeError):
            client, settings = where.client(profile), where.context(profile).settings
            return self.names.read_with(client, BRANCH, settings)
        return {}

    def _consent_json(
        self, batch: Batch, request: BatchConsentRequest | ConsentRequest
    ) -> dict[str, Any]:
        """Return what a run would send or process, for confirmation."""
        if isinstance(request, ConsentRequest):
            return {
                "token": request.token,
                "writes": len(request.planned),
                "remarks": [str(line).strip() for line in request.lines()],
                "targets": [request.target.to_json()],
                "table": None,
                "totals": [],
            }
        report = consent_report(batch, request)
        profiles = dict.fromkeys(writes.step.profile for writes in request.steps)
        targets = [batch.environments.client(profile).target for profile in profiles]
        totals = list[Table]()
        for writes in request.steps:
            if (own := writes.totals) is None:
                continue
            own.branches = self._branches(batch, writes.step.profile)
            totals += own.by_column(own.rows, sheet=untranslated(writes.step.name))
        return {
            "token": request.token,
            "writes": request.total,
            "remarks": list(map(str.strip, map(str, report.remarks))),
            "targets": list({target.profile: target.to_json() for target in targets}.values()),
            "table": table_json(report.tables[0]),
            "totals": list(map(table_json, totals)),
        }

    def _opened(
        self, name: str, announce: Callable[[Text], None] = lambda _text: None
    ) -> AbstractContextManager[Batch]:
        return open_known_batch(name, self.remote.base, announce)


def _outcome_json(batch: Batch, outcome: BatchOutcome) -> dict[str, Any]:
    """Return what a run or a proof of a batch has found: its errors, and what its proofs say."""
    _steps, *proofs = batch_report(batch, outcome).report().tables
    return {
        "batch": batch.id,
        "problems": list(map(error_json, outcome.errors)),
        "proofs": list(map(table_json, proofs)),
    }


def _show_phase(
    remote: PageConnection, tell: Callable[[Text], None], title: Text, total: int
) -> AbstractContextManager[WorkProgress]:
    """Show a phase of a run, and how many of its steps are done."""
    done, known = count(1), total if total > 1 else 0
    tell(title)
    remote.count(0, known)
    return nullcontext(WorkProgress(tell, lambda: remote.count(next(done), known)))


_PLAN_NAME = Text(pt="fechamento", en="closing")
_MONTH = re.compile(r"((?:19|20)\d\d-(?:0[1-9]|1[0-2]))")
_NO_UNIT = Text(
    pt="Esta planilha não é de um lote.", en="This workbook does not belong to a batch."
)
_CHANGED = Text(
    pt="{file} mudou desde que foi aberto aqui; abra-o de novo em Lotes.",
    en="{file} was changed since it was opened here; open it again under Batches.",
)
_NOT_SAME = Text(
    pt="A cópia corrigida de {file} não seria lida como está aqui, e o lote ficou como estava. "
    "Baixe a planilha corrigida, salve-a na pasta do lote e tire dali o arquivo anterior.",
    en="The corrected copy of {file} would not be read as it is here, and the batch was left as it "
    "was. Download the corrected workbook, save it in the batch's folder, and remove the earlier "
    "file there.",
)
_REPLACED = Text(
    pt="{file} está corrigido no lote; o anterior ficou em {kept}. Agora confira o lote e "
    "continue.",
    en="{file} is corrected in the batch; the earlier one is kept in {kept}. Now check the batch "
    "and go on.",
)


def _folder_json(path: Path) -> dict[str, Any]:
    """Return the visible folders and the plans in a folder, and how many workbooks it has."""
    path = path.expanduser()
    folder = path.parent if path.is_file() else path
    require_folder(folder)
    with report_write_errors(folder):
        inside = sorted(folder.iterdir(), key=lambda one: one.name.casefold())
    shown = [one for one in inside if not one.name.startswith((".", "~"))]
    return {
        "path": str(folder),
        "parent": None if folder.parent == folder else str(folder.parent),
        "folders": [{"name": one.name, "path": str(one)} for one in shown if one.is_dir()],
        "plans": [plan for one in shown if (plan := _plan_json(one)) is not None],
        "workbooks": sum(
            one.suffix.lower() in WORKBOOK_ENDINGS and not WorkbookMark.PROVEN.is_on(one)
            for one in shown
        ),
        "month": found[1] if (found := _MONTH.search(folder.name)) else f"{datetime.now():%Y-%m}",
    }


def _plan_json(path: Path) -> dict[str, Any] | None:
    """Return a plan for the list of a folder, None if a file is none."""
    if path.suffix not in {".yaml", ".yml"}:
        return None
    content = getattr(read_document(path, dates=False), "content", None)
    if not isinstance(content, dict) or not isinstance(content.get("steps"), dict):
        return None
    return {
        "file": path.name,
        "path": str(path),
        "name": str(content.get("name", "")),
        "month": "month" in (content.get("parameters") or {}),
        "steps": ", ".join(map(str, content["steps"])),
    }


def _key(book: FoundWorkbook) -> str:
    return f"{book.file}|{book.sheet or ''}"


def _proof_json(path: Path) -> dict[str, str]:
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC).astimezone()
    at = f"{written:%d/%m/%Y %H:%M}"
    return {"name": path.stem, "kind": path.suffix[1:], "file": path.name, "written_at": at}
