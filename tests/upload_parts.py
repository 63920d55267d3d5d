"""What the tests of uploads are made of."""

import itertools
from collections.abc import Callable
from pathlib import Path

from stdnum.br import cnpj

from xlbridge.client import Client
from xlbridge.upload import Job, RequestedMode, RunOptions, UploadContext, choose_mode, create_job
from xlbridge.validation import validate_workbook
from xlbridge.wire.registry import CLIENT_LIST, ClientQuery

MakeClients = Callable[..., Path]
YES = RunOptions(consent=lambda _job, _seen: True)

_numbers = itertools.count(1)


def new_cnpj() -> str:
    """A CNPJ that no other test has used."""
    base = f"{next(_numbers):08d}0001"
    return base + str(cnpj.calc_check_digits(base))


def registered(client: Client, document: str) -> bool:
    """Tell whether the remote system has a client with that document."""
    return client.call(CLIENT_LIST, query=ClientQuery(cnpjcpf=document)) is not None


def write_job(
    desk: UploadContext, path: Path, mode: RequestedMode, again: str | None = None
) -> Job:
    """Judge a workbook and write its job down, as the command does."""
    sheet = validate_workbook(path, desk.catalogue)
    assert sheet.ok
    assert sheet.resource is not None
    plan = choose_mode(sheet.resource, mode)
    return create_job(desk, sheet, sheet.resource, plan, "rehearsal", again=again)
