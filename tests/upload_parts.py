"""What the tests of uploads are made of."""

import itertools
from collections.abc import Callable
from pathlib import Path

from stdnum.br import cnpj

from xlbridge.api.client import Client
from xlbridge.upload.desk import Desk
from xlbridge.upload.journal.job import Job
from xlbridge.upload.options import RunOptions
from xlbridge.upload.plan import WantedMode, choose_mode
from xlbridge.upload.send import write_down
from xlbridge.validation.validate import validate_workbook
from xlbridge.wire.operations.registry import CLIENT_LIST
from xlbridge.wire.registry import ClientQuery

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


def write_job(desk: Desk, path: Path, mode: WantedMode, again: str | None = None) -> Job:
    """Judge a workbook and write its job down, as the command does."""
    sheet = validate_workbook(path, desk.catalogue)
    assert sheet.ok
    assert sheet.resource is not None
    plan = choose_mode(sheet.resource, mode)
    return write_down(desk, sheet, sheet.resource, plan, "rehearsal", again=again)
