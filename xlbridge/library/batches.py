"""Runs and plans of batches."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.batch import (
    Batch,
    BatchConsentRequest,
    BatchOutcome,
    BatchRunOptions,
    batch_report,
    open_batch,
    plan_batch,
    run_batch,
)
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.library.reports import html_of
from xlbridge.progress import WorkProgress
from xlbridge.settings import Settings
from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import ApproveAll, Confirmed, Consent


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Outcome of a batch, or its plan.

    ``batch`` is its id, for ``xlbridge batch status`` and ``resume``. ``ok`` is true if all steps
    are done and their proofs leave nothing open. ``steps`` is a DataFrame with ``step``, ``kind``,
    ``state``, ``problem``, and the counts of ``UploadOutcome.rows``. ``token`` (``ROWS:DIGEST8``)
    confirms exactly the writes of a plan; None if there are none, or after a run. ``errors`` are
    those after which the run went on: a proof or page that could not be written, a failure of this
    computer. ``document`` is the JSON of ``xlbridge batch … --format json``.
    """

    batch: str
    ok: bool
    steps: pd.DataFrame = field(repr=False)
    token: str | None
    errors: tuple[XlbridgeError, ...]
    document: Mapping[str, Any] = field(repr=False)

    def _repr_html_(self) -> str:
        return html_of(self, self.steps)


def run_plan(
    settings: Settings,
    plan: Path,
    parameters: Mapping[str, str],
    consent: Consent | None,
    progress: Callable[[Text], None],
    *,
    all_or_nothing: bool,
) -> BatchResult:
    """Run a batch, or plan it without consent; see ``Connection.batch``."""

    @contextmanager
    def phase(title: Text, _total: int) -> Iterator[WorkProgress]:
        progress(title)
        yield WorkProgress(progress)

    with open_batch(plan, parameters, settings, progress) as batch:
        options = BatchRunOptions(
            consent=lambda asked: consent is not None and _consents(batch, consent, asked),
            upload=UploadOptions(consent=ApproveAll(), progress=progress),
            consent_to_processing=lambda asked: consent is not None and consent(asked),
            all_or_nothing=all_or_nothing,
            progress=phase,
        )
        outcome = plan_batch(batch, options) if consent is None else run_batch(batch, options)
        return _result(batch, outcome)


def _consents(batch: Batch, consent: Consent, asked: BatchConsentRequest) -> bool:
    """Return True. Raises ``UsageError`` if the consent does not cover the writes."""
    if isinstance(consent, Confirmed):
        return asked.require(consent.token, _HOW_TO_CONFIRM)
    profiles = {writes.step.profile for writes in asked.steps}
    targets = [batch.environments.client(profile).target for profile in profiles]
    if asked.undone or any(target.production for target in targets):
        raise UsageError(_NEEDS_TOKEN, _HOW_TO_CONFIRM)
    for target in targets:
        target.require_choice()
    return True


_NEEDS_TOKEN = Text(
    pt="yes=True não vale para produção nem para linhas desfeitas.",
    en="yes=True covers neither production nor rows that were undone.",
)
_HOW_TO_CONFIRM = Text(
    pt="Nada foi enviado. Veja o plano com erp.batch(plan) e confirme com confirm=plano.token.",
    en="Nothing was sent. See the plan with erp.batch(plan), and confirm with confirm=plan.token.",
)


def _result(batch: Batch, outcome: BatchOutcome) -> BatchResult:
    document = batch_report(batch, outcome).document()
    names = ("step", "kind", "state", "problem")
    steps = [{name: step[name] for name in names} | step["rows"] for step in document["steps"]]
    return BatchResult(
        batch=document["batch"],
        ok=document["done"] and outcome.proofs_settled and not outcome.errors,
        steps=pd.DataFrame(steps),
        token=outcome.confirm,
        errors=outcome.errors,
        document=document,
    )
