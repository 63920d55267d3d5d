"""Exit codes, and which error gives which."""

from collections.abc import Iterable
from enum import IntEnum

from xlbridge.errors import (
    ApiError,
    InDoubt,
    LocalFailure,
    RemoteRejected,
    WorkbookRefused,
    XlbridgeError,
)


class ExitCode(IntEnum):
    """The contract's exit codes. ``CRASHED`` is outside it: a defect of xlbridge.

    ``COMPUTER_FAILED`` says that nothing is in doubt: where a request had left and is not settled,
    it is ``IN_DOUBT``.
    """

    GOOD = 0
    DATA_ERRORS = 1
    WRONG_USAGE = 2
    REFUSED = 3
    FAILED = 4
    IN_DOUBT = 5
    COMPUTER_FAILED = 6
    CRASHED = 70
    INTERRUPTED = 130


_BY_ERROR: tuple[tuple[type[XlbridgeError], ExitCode], ...] = (
    (WorkbookRefused, ExitCode.REFUSED),
    (InDoubt, ExitCode.IN_DOUBT),
    (RemoteRejected, ExitCode.DATA_ERRORS),
    (ApiError, ExitCode.FAILED),
    (LocalFailure, ExitCode.COMPUTER_FAILED),
    (XlbridgeError, ExitCode.WRONG_USAGE),
)


def exit_code_of(error: XlbridgeError) -> ExitCode:
    """Return the exit code that an error ends a command with."""
    return next(code for kind, code in _BY_ERROR if isinstance(error, kind))


def gravest(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the exit code that one command ends with for several outcomes: doubt before all."""
    return max(codes, key=lambda code: (code is ExitCode.IN_DOUBT, code), default=ExitCode.GOOD)
