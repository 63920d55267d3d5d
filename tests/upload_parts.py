"""Helpers of the tests of uploads."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from stdnum.br import cnpj

from xlbridge.client import Client
from xlbridge.report_forms import ReportForms
from xlbridge.upload import (
    Job,
    Journal,
    RequestedMode,
    UploadContext,
    UploadOptions,
    Uploads,
    results,
)
from xlbridge.upload.planning import ApproveAll, RowAction
from xlbridge.upload.results import job_report
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.wire.registry import CLIENT_LIST, ClientQuery

MakeClients = Callable[..., Path]

YES = UploadOptions(consent=ApproveAll(), settle_seconds=900)
QUICK = replace(YES, sleep=lambda _seconds: None)
AT_ONCE = replace(QUICK, settle_seconds=0)

_numbers = itertools.count(1)


def new_cnpj() -> str:
    """Return a CNPJ that no other test has used."""
    base = f"{next(_numbers):08d}0001"
    return base + str(cnpj.calc_check_digits(base))


def registered(client: Client, document: str) -> bool:
    """Return whether the remote system has a client with a document."""
    return client.call(CLIENT_LIST, query=ClientQuery(cnpjcpf=document)) is not None


def count_named(client: Client, name: str) -> int:
    """Return the number of clients with a name in the remote system."""
    return sum(one["nomeComercial"] == name for one in client.records(CLIENT_LIST))


def existing_cnpj(client: Client) -> str:
    """Create a client in the remote system, and return its CNPJ."""
    document = new_cnpj()
    client.registry.clients.create(nomeComercial="Antigo", cnpj=document)
    return document


def accepted_rows(context: UploadContext, job: Job) -> int:
    """Return the number of rows of a job that are accepted now."""
    return results.row_counts(context.journal, job)["accepted"]


def row_counts(**counts: int) -> dict[str, int]:
    """Return the counts of a report's rows, 0 by default; ``created`` follows from the others."""
    names = (
        *("read", "accepted", "created", "updated", "rejected"),
        *("unknown", "unchanged", "held", "undone"),
    )
    created = counts.get("accepted", 0) - counts.get("updated", 0)
    return dict.fromkeys(names, 0) | {"created": created} | counts


def plan_counts(**counts: int) -> dict[str, int]:
    """Return the counts of a plan's actions, 0 by default."""
    always = [action for action in RowAction if action not in {"delete", "process"}]
    return dict.fromkeys(map(str, always), 0) | counts


def report_lines(journal: Journal, job: Job) -> list[str]:
    """Return the report of a job as text."""
    return list(map(str, ReportForms.of_report(lambda: job_report(journal, job)).lines()))


def send_sheet(
    context: UploadContext, client: Client, sheet: ValidatedSheet, options: UploadOptions
) -> Job:
    """Create the job of a sheet, and run it."""
    uploads = Uploads(context, client)
    return uploads.run(uploads.create(sheet, options), options)


def write_job(
    context: UploadContext,
    client: Client,
    path: Path,
    mode: RequestedMode,
    *,
    again: str | None = None,
    chunk_rows: int | None = None,
    look_up: bool = True,
) -> Job:
    """Validate a workbook, plan its rows and create its job; nothing is written."""
    sheet = validate_workbook(path, context.catalogue)
    options = replace(YES, mode=mode, again=again, chunk_rows=chunk_rows, look_up=look_up)
    return Uploads(context, client).create(sheet, options)
