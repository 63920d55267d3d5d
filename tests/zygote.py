"""Runner of command lines without start-up time: everything is imported once, then forked.

Reads orders as JSON lines from stdin, and answers each with two lines: ``{"pid": …}`` when the
process runs, ``{"status": …}`` when it has ended. Each fork has its own environment, working folder
and streams, and calls ``run`` of the module named in the order, with the arguments in ``sys.argv``.

A process that ``stays`` is not waited for: it has its own session, its stdin remains open as long
as the zygote runs, and the order ``{"end": pid}`` terminates it and answers its status.

Inside: ui.
"""

import asyncio
import gc
import importlib
import json
import multiprocessing
import os
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from forked import GC_THRESHOLD, save_time

import xlbridge
from xlbridge.batch import prove_batch, run_batch
from xlbridge.report_forms import PRINTABLE_FORMS
from xlbridge.resources import load_catalogue
from xlbridge.sandbox import SeedKind, ServeOptions, serve
from xlbridge.settings import Settings
from xlbridge.ui.environment import PageConnection
from xlbridge.ui.server import PageApplication
from xlbridge.validation import validate_workbook
from xlbridge.validation.report import Report
from xlbridge.validation.report_formats import report_forms
from xlbridge.wire import WireModel
from xlbridge.workbook.write import write_template

_LATE = (
    "anyio._backends._asyncio",
    "certifi",
    "encodings.idna",
    "httpcore",
    "jinja2",
    "platformdirs",
    "pyarrow.compute",
    "stdnum.br.cnpj",
)
"""Modules that commands import on first use."""

_SAMPLES = Path(__file__).parents[1] / "samples"
_PATIENCE = 10.0


def carry_out(order: dict[str, Any], open_input: int, kept_open: int) -> None:
    """Run an order in this process."""
    os.close(kept_open)
    if order["stays"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    for number, name in ((1, order["stdout"]), (2, order["stderr"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.dup2(open_input if order["stays"] else os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)  # multiprocessing closed it
    # The zygote's own stream may be a file; this one may be a terminal.
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.argv = [order["module"], *order["arguments"]]
    importlib.import_module(order["module"]).run()


def main() -> None:
    """Run orders until stdin ends."""
    for module in pkgutil.walk_packages(xlbridge.__path__, "xlbridge."):
        if module.name != "xlbridge.__main__":  # the program itself
            importlib.import_module(module.name)
    warm_up()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)
    save_coverage()
    forking = multiprocessing.get_context("fork")
    open_input, kept_open = os.pipe()
    staying: dict[int | None, BaseProcess] = {}
    answer(ready=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "end" in order:
            end(process := staying.pop(order["end"]))
        else:
            process = forking.Process(target=carry_out, args=(order, open_input, kept_open))
            process.start()
            answer(pid=process.pid)
            if order["stays"]:
                staying[process.pid] = process
                continue
            process.join()
        answer(status=process.exitcode)
    os.close(kept_open)


def warm_up() -> None:
    """Prepare once what each process would prepare on first use.

    Imports, models of the interface, checks of columns, templates of pages, the start of a sandbox
    and of the page. The proof of a stored token gets minimal cost, as do a sandbox's logins.
    """
    for name in _LATE:
        importlib.import_module(name)
    for model in (WireModel, *models_below(WireModel)):
        model.model_rebuild()
    save_time()
    catalogue = load_catalogue()
    # Not through commands: click caches their texts in the language of the first run.
    for sample in ("cliente", "contasreceber-com-erros"):
        sheet = validate_workbook(_SAMPLES / f"{sample}.xlsx", catalogue)
        for form in PRINTABLE_FORMS:
            "".join(report_forms(Report([sheet])).render(form))
    with TemporaryDirectory(prefix="xlbridge-") as folder:
        write_template(Path(folder) / "cliente.xlsx", catalogue["cliente"])
        with suppress(_WarmedUp):
            own = Settings(home=Path(folder))
            serve(ServeOptions(seed=SeedKind.EMPTY), own, end_at_once, end_at_once)
        asyncio.run(open_page(own))


async def open_page(settings: Settings) -> None:
    """Answer the request for the page of ``xlbridge ui``."""
    remote = PageConnection(settings)
    page = PageApplication(remote, run_batch, prove_batch, end_at_once).build()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(page)) as client:
        (await client.get("http://page/")).raise_for_status()
    remote.close()


class _WarmedUp(Exception):
    """The sandbox has started."""


def end_at_once(*_arguments: object) -> None:
    """Stop the sandbox that has started."""
    raise _WarmedUp


def models_below(model: type[WireModel]) -> Iterator[type[WireModel]]:
    """Yield all models that are derived from a model."""
    for derived in model.__subclasses__():
        yield derived
        yield from models_below(derived)


def save_coverage() -> None:
    """Save the coverage of the imports, which each process would otherwise save again."""
    if "coverage" in sys.modules and (measuring := sys.modules["coverage"].Coverage.current()):
        measuring.save()


def end(process: BaseProcess) -> None:
    """Terminate a process; kill it if that takes too long."""
    process.terminate()
    process.join(_PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()


def answer(**values: object) -> None:
    """Write one line of an answer."""
    print(json.dumps(values), flush=True)


if __name__ == "__main__":
    main()
