"""The real command on a disk that fails from one of its writes on, or killed before that write.

A seccomp filter, which any user may set, makes the kernel answer writing calls with the wanted
error; a limit on file sizes ends a write in the middle of a page. If the kernel has no such filter,
the limit replaces every kind of failure.
"""

import ctypes
import errno
import os
import platform
import re
import resource
import signal
import sqlite3
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from xlbridge.cli.main import main


class Failure(StrEnum):
    """How the disk fails; ``TORN`` ends a write within a page, ``KILLED`` kills the process."""

    FULL = "full"
    QUOTA = "over its quota"
    READ_ONLY = "read-only"
    NO_PERMISSION = "without permission"
    BROKEN = "broken"
    UNSYNCED = "not synchronised"
    TORN = "torn"
    KILLED = "killed"


_ERRORS = {
    Failure.FULL: errno.ENOSPC,
    Failure.QUOTA: errno.EDQUOT,
    Failure.READ_ONLY: errno.EROFS,
    Failure.NO_PERMISSION: errno.EACCES,
    Failure.BROKEN: errno.EIO,
    Failure.UNSYNCED: errno.EIO,
}

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""Kernel constant of a machine, and the index of its numbers below."""

_WRITE = (1, 64)
_OPENAT = (257, 56)
_WRITES = ((18, 68), (20, 66), (285, 47))  # pwrite64, writev, fallocate
_SYNCS = ((74, 82), (75, 83))  # fsync, fdatasync
_NAMES = ((77, 46), (258, 34), (83, None), (82, None), (264, 38), (316, 276), (87, None), (263, 35))
"""Numbers of ftruncate, mkdirat, mkdir, rename, renameat, renameat2, unlink, unlinkat."""
_SECCOMP = (317, 277)

_NO_NEW_PRIVILEGES, _SET_FILTER, _ALL_THREADS = 38, 1, 1
_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER_AT, _FIRST_ARGUMENT_AT, _THIRD_ARGUMENT_AT = 0, 16, 32
_LAST_STREAM = 2

_MAX_STDERR = 4096
JOURNAL = "journal:"
"""Prefix of the names of the journal's writes; other databases have other prefixes."""

WRITES_BEGIN = "The writes:"
"""Line of stdout above the list of writes."""

_libc = ctypes.CDLL(None, use_errno=True)


def _program(failure: Failure, index: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the filter's instructions; all other calls are allowed."""
    refuse = (_RETURN, 0, 0, _FAIL | _ERRORS[failure])
    yield _LOAD, 0, 0, _NUMBER_AT
    calls = list(_SYNCS) if failure is Failure.UNSYNCED else [*_WRITES]
    if failure is Failure.BROKEN:
        calls += _SYNCS
    if failure in {Failure.READ_ONLY, Failure.NO_PERMISSION}:
        calls += _NAMES
        yield _EQUAL, 0, 4, _OPENAT[index]
        yield _LOAD, 0, 0, _THIRD_ARGUMENT_AT
        yield _ANY_BIT, 0, 1, os.O_WRONLY | os.O_RDWR | os.O_CREAT
        yield refuse
        yield _RETURN, 0, 0, _ALLOW
    for call in calls:
        if (number := call[index]) is not None:
            yield _EQUAL, 0, 1, number
            yield refuse
    if failure is not Failure.UNSYNCED:
        yield _EQUAL, 0, 3, _WRITE[index]
        yield _LOAD, 0, 0, _FIRST_ARGUMENT_AT
        yield _GREATER, 0, 1, _LAST_STREAM
        yield refuse
    yield _RETURN, 0, 0, _ALLOW


def _refuse_by_kernel(failure: Failure) -> bool:
    """Set the filter for all threads; return whether the kernel accepted it."""
    machine = _ARCHITECTURES.get(platform.machine())
    if machine is None or sys.platform != "linux":
        return False
    _, index = machine
    steps = [struct.pack("HBBI", *step) for step in _program(failure, index)]
    code = ctypes.create_string_buffer(b"".join(steps))
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    )
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return int(_libc.syscall(_SECCOMP[index], _SET_FILTER, _ALL_THREADS, program)) == 0


class FailingDisk:
    """Disk that fails from the ``number``-th write in a folder on; -1 never fails.

    Writes are the statements that change the journal or the ledger of batches, and the files that
    are opened for writing.
    """

    def __init__(self, folder: Path, number: int, failure: Failure, extra: int) -> None:
        self._folder = str(folder)
        self._number, self._failure, self._extra = number, failure, extra
        self._journal = ""
        self._database = ""
        self._opened: tuple[str, sqlite3.Connection] | None = None
        self._files: set[str] = set()
        self.writes: list[str] = []

    def handle_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count writes: an audit hook of Python."""
        if event == "sqlite3.connect":
            self._watch_opened()
            self._database = str(arguments[0])
        elif event == "sqlite3.connect/handle" and self._database.startswith(self._folder):
            name = Path(self._database).stem
            self._opened = name, arguments[0]
            self._journal = self._database if f"{name}:" == JOURNAL else self._journal
        elif event == "open" and isinstance(arguments[0], str | os.PathLike):
            path = str(Path(arguments[0]).absolute())
            if self._is_new_write(path, arguments[2]):
                self._files.add(path)
                self._count(f"file {Path(path).suffix}")

    def _is_new_write(self, path: str, flags: object) -> bool:
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
        return bool(writes) and path.startswith(self._folder) and path not in self._files

    def _watch_opened(self) -> None:
        """Trace the statements of a database once it is open."""
        if self._opened is None:
            return
        (name, database), self._opened = self._opened, None

        def trace(statement: str) -> None:
            alone = not database.in_transaction and re.match(_ALONE, statement)
            if alone or statement.startswith("COMMIT"):
                self._count(f"{name}: {statement.split()[0]}")

        # One that only looked at the file is closed by now.
        with suppress(sqlite3.ProgrammingError):
            database.set_trace_callback(trace)

    def _count(self, what: str) -> None:
        self.writes.append(what)
        if len(self.writes) != self._number + 1:
            return
        if self._failure is Failure.KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._failure is Failure.TORN or not _refuse_by_kernel(self._failure):
            log = Path(f"{self._journal}-wal")
            size = log.stat().st_size if log.exists() else 0
            _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
            # Standard error is a file of a few kB here, which is to stay writable.
            limit = max(size + self._extra, _MAX_STDERR)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))


_ALONE = re.compile(r"INSERT|CREATE TABLE IF NOT EXISTS jobs|PRAGMA (user_version|journal_mode) =")


def run() -> None:
    """Run the command in the arguments, after the number of the write, the failure and extra bytes.

    The disk is the folder of the home. A command without a failure prints the list of its writes at
    the end.
    """
    number, failure, extra, *arguments = sys.argv[1:]
    folder = Path(os.environ["XLBRIDGE_HOME"]).parent
    disk = FailingDisk(folder, int(number), Failure(failure), int(extra))
    _save_coverage()
    sys.addaudithook(disk.handle_event)
    code = main(arguments)
    if int(number) < 0:
        os.write(1, "\n".join([WRITES_BEGIN, *disk.writes]).encode())
    # Neither coverage nor anything else may write any more.
    _libc._exit(code)


def _save_coverage() -> None:
    """Save the coverage data, which is impossible once the disk fails."""
    if "coverage" in sys.modules and (measuring := sys.modules["coverage"].Coverage.current()):
        measuring.stop()
        measuring.save()
