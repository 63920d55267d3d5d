"""Process records of the system in bulk, and what became of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.client import Client
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.settings import Settings
from xlbridge.upload import (
    ProcessKind,
    RecordNumbers,
    UploadOptions,
    Uploads,
    create_processing,
    find_kind,
    given_numbers,
    has_rejected,
    numbers_in_sheet,
    open_context,
    plan_processing,
    process_json,
    process_plan_json,
)

HOW_TO_CONFIRM = Text(
    pt="Nada foi enviado. Veja o plano com plan_process, e confirme com confirm=plan.token.",
    en="Nothing was sent. See the plan with plan_process, and confirm with confirm=plan.token.",
)

_COLUMNS = {
    "id": "Int64",
    "row": "Int64",
    "outcome": "str",
    "reason": "str",
    "message": "str",
    "given": "object",
}


@dataclass(frozen=True, slots=True)
class Processing:
    """Processing of records, or the plan of one.

    ``job`` is its id in the journal, for ``xlbridge jobs`` and ``resume``; None for a plan.
    ``rows`` counts records: ``read`` is the sum of ``processed``, ``already``, ``rejected`` and
    ``unknown``. ``records`` is a DataFrame with ``id``, ``row`` (in the sheet, if there is one),
    ``outcome``, ``reason``, ``message`` and ``given``, a dict of what the system gave the record.
    ``token`` confirms just these records: ``RECORDS:DIGEST8``. ``document`` is what
    ``xlbridge process --format json`` prints.
    """

    job: str | None
    state: str
    listing: str
    rows: Mapping[str, int]
    records: pd.DataFrame = field(repr=False)
    token: str
    ok: bool
    document: Mapping[str, Any] = field(repr=False)


def plan_records(
    settings: Settings, client: Client, listing: str, numbers: "Numbers", again: str | None
) -> Processing:
    """Plan the processing of records; see ``Connection.plan_process``."""
    kind = find_kind(listing)
    with open_context(settings) as context:
        read = numbers.read(kind, settings)
        plan = plan_processing(context, client, kind, read, again=again, at_once=numbers.at_once)
    return _processing(process_plan_json(plan), ok=not plan.left)


def process_listing(
    settings: Settings, client: Client, listing: str, numbers: "Numbers", options: UploadOptions
) -> Processing:
    """Process records; see ``Connection.process``."""
    kind = find_kind(listing)
    with open_context(settings) as context:
        read = numbers.read(kind, settings)
        job = create_processing(context, client, kind, read, options, at_once=numbers.at_once)
        try:
            job = Uploads(context, client).run(job, options)
        except XlbridgeError as error:
            error.add_note(f"xlbridge resume {job.id}")
            raise
        ok = job.state.public == "done" and not has_rejected(context.journal, job)
        return _processing(process_json(context.journal, job), ok=ok)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers of records as a caller gives them: themselves, or a workbook that has them."""

    ids: Sequence[int] | None
    file: str | PathLike[str] | None
    sheet: str | None
    at_once: int = 1

    def read(self, kind: ProcessKind, settings: Settings) -> RecordNumbers:
        """Return the numbers.

        Raises ``UsageError`` for another number of sources than one, or an ``at_once`` below 1.
        """
        if self.at_once < 1:
            raise UsageError(
                Text(pt="at_once deve ser 1 ou mais.", en="at_once must be 1 or more.")
            )
        if self.ids is not None and self.file is None:
            return given_numbers([int(number) for number in self.ids])
        if self.file is not None and self.ids is None:
            return numbers_in_sheet(Path(self.file), kind, settings.limits, self.sheet)
        raise UsageError(
            Text(
                pt="Informe os números com ids ou file, um dos dois.",
                en="Give the numbers by ids or file, one of the two.",
            )
        )


def _processing(document: dict[str, Any], *, ok: bool) -> Processing:
    return Processing(
        job=document["job"],
        state=document["state"],
        listing=document["listing"],
        rows=document["rows"],
        records=pd.DataFrame(document["records"], columns=list(_COLUMNS)).astype(_COLUMNS),
        token=document["confirm"],
        ok=ok,
        document=document,
    )
