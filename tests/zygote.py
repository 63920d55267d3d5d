"""Runs command lines in processes that need no start: everything is imported once, then forked.

Reads one JSON order a line from stdin and answers with two lines: ``{"pid": …}`` when the process
lives, ``{"status": …}`` when it has ended. A fork is a process like any other, with an environment,
a folder, streams and an end of its own, and the code in it is the program's own: ``run`` of the
module that the order names, which finds its arguments in ``sys.argv``.

A process that ``stays`` is not waited for: it is in a session of its own, its stdin is open for as
long as the zygote lives, and the order ``{"end": pid}`` has it end, with a line of its status.

A fork costs as much as a command: it copies each page of memory that it touches. What is not
ordered ``alone`` is therefore carried out in a fork that stands by and takes one command after the
other, in the environment, the folder and the streams of each, until one leaves a file or a thread
behind.
"""

import gc
import importlib
import json
import multiprocessing
import os
import pkgutil
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from forked import GC_THRESHOLD, NEXT_TO_NOTHING

import xlbridge
from xlbridge.client import session
from xlbridge.report_forms import PRINTABLE_FORMS
from xlbridge.resources import load_catalogue
from xlbridge.sandbox import SeedKind, ServeOptions, serve
from xlbridge.settings import Settings
from xlbridge.validation import validate_workbook
from xlbridge.validation.reports import Report, report_forms
from xlbridge.wire import WireModel
from xlbridge.workbook.write import write_template

_NOT_FIRST = ("xlbridge.__main__", "xlbridge.parallel.cluster")
"""The program itself, and what brings threads and is only for who has a cluster."""

_LATE = (
    "certifi",
    "encodings.idna",
    "httpcore",
    "jinja2",
    "platformdirs",
    "pyarrow.compute",
    "stdnum.br.cnpj",
)
"""What commands import when they first use it."""

_SAMPLES = Path(__file__).parents[1] / "samples"
_PATIENCE = 10.0


def carry_out(order: dict[str, Any], open_input: int, kept_open: int) -> None:
    """Become the process of an order."""
    os.close(kept_open)
    if order["stays"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    for number, name in ((1, order["stdout"]), (2, order["stderr"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.dup2(open_input if order["stays"] else os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)  # multiprocessing took it away
    # The zygote's own may be a file, which a terminal is not.
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.argv = [order["module"], *order["arguments"]]
    importlib.import_module(order["module"]).run()


def stand_by(orders: Connection) -> None:
    """Carry out command lines, one after the other, until one leaves something behind."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    kept = leftovers()
    while kept == leftovers():
        if (order := orders.recv()) is None:
            return
        status = command(order)
        if kept != leftovers():
            gc.collect()
        orders.send((status, kept == leftovers()))


def command(order: dict[str, Any]) -> int:
    """Run a command line within this process; return its exit code."""
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    streams = []
    for number, name in ((1, order["stdout"]), (2, order["stderr"])):
        written = os.open(name, os.O_WRONLY | os.O_APPEND)
        os.dup2(written, number)
        os.close(written)
        form = {"encoding": "utf-8", "errors": "backslashreplace"}
        streams.append(os.fdopen(number, "w", **form, closefd=False))
    sys.stdout, sys.stderr = streams
    sys.argv = [order["module"], *order["arguments"]]
    status: int = importlib.import_module(order["module"]).main(order["arguments"])
    for stream in streams:
        stream.flush()
    return status


def leftovers() -> tuple[frozenset[Path], int]:
    """Return what a command may leave behind: open files by their number, threads."""
    return frozenset(Path("/proc/self/fd").iterdir()), threading.active_count()


@dataclass
class StandingBy:
    """The fork that takes one command after the other, as long as it is fit to."""

    process: BaseProcess | None = None
    orders: Connection | None = None

    def carry_out(self, order: dict[str, Any]) -> None:
        """Have a command line carried out; answer its process and its status."""
        if self.process is None or self.orders is None:
            forking = multiprocessing.get_context("fork")
            self.orders, theirs = forking.Pipe()
            self.process = forking.Process(target=stand_by, args=(theirs,))
            self.process.start()
            theirs.close()
        answer(pid=self.process.pid)
        try:
            self.orders.send(order)
            status, fit = self.orders.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.process.join()
            status, fit = self.process.exitcode, False
        if not fit:
            self.end()
        answer(status=status)

    def end(self) -> None:
        """Let it go."""
        if self.process is not None and self.orders is not None:
            with suppress(BrokenPipeError):
                self.orders.send(None)
            self.orders.close()
            self.process.join()
        self.process = self.orders = None


def main() -> None:
    """Take orders until stdin ends."""
    for module in pkgutil.walk_packages(xlbridge.__path__, "xlbridge."):
        if module.name not in _NOT_FIRST:
            importlib.import_module(module.name)
    warm_up()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)
    save_coverage()
    forking = multiprocessing.get_context("fork")
    open_input, kept_open = os.pipe()
    staying: dict[int | None, BaseProcess] = {}
    standing_by = StandingBy()
    answer(ready=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "end" in order:
            end(process := staying.pop(order["end"]))
        elif not order["alone"]:
            standing_by.carry_out(order)
            continue
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
    standing_by.end()


def warm_up() -> None:
    """Do beforehand what each process would do when it first uses a thing.

    Imports, models of the interface, checks of columns, templates of pages, a sandbox's start. A
    kept token's proof,
    which takes long on purpose, costs next to nothing, as a sandbox's logins do.
    """
    for name in _LATE:
        importlib.import_module(name)
    for model in (WireModel, *models_below(WireModel)):
        model.model_rebuild()
    session.PROOF_COST = NEXT_TO_NOTHING
    catalogue = load_catalogue()
    # No command itself: click keeps the texts of one that has run in the language of that run.
    for sample in ("cliente", "contasreceber-com-erros"):
        judged = validate_workbook(_SAMPLES / f"{sample}.xlsx", catalogue)
        for form in PRINTABLE_FORMS:
            "".join(report_forms(Report.of([judged])).render(form))
    with TemporaryDirectory(prefix="xlbridge-") as folder:
        write_template(Path(folder) / "cliente.xlsx", catalogue["cliente"])
        with suppress(_WarmedUp):
            own = Settings(home=Path(folder))
            serve(ServeOptions(seed=SeedKind.EMPTY), own, end_at_once, end_at_once)


class _WarmedUp(Exception):
    """A sandbox answers, and is asked for nothing."""


def end_at_once(*_told: object) -> None:
    """End the sandbox that has started."""
    raise _WarmedUp


def models_below(model: type[WireModel]) -> Iterator[type[WireModel]]:
    """Yield all models that are derived from a model."""
    for derived in model.__subclasses__():
        yield derived
        yield from models_below(derived)


def save_coverage() -> None:
    """Write down what the imports have covered, which each process would write again."""
    if "coverage" in sys.modules and (measuring := sys.modules["coverage"].Coverage.current()):
        measuring.save()


def end(process: BaseProcess) -> None:
    """Ask a process to end, and end it where it does not."""
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
