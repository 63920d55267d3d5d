"""Exceptions of xlbridge, their exit codes, and the reasons for operating-system errors in both
languages.

Bad data is never raised: it is returned as findings. What is raised is one of these::

    XlbridgeError
    ├── UsageError          the command or call is wrong: no such file, sheet, resource, listing
    ├── ConfigError         settings or a profile are wrong or missing
    ├── SchemaFileError     a resource's schema file is wrong
    ├── PlanFileError       a batch's plan is wrong
    ├── WorkbookRefused     a file is not a workbook that can be read safely
    ├── JournalError        the upload journal forbids or cannot do what is asked
    ├── LocalFailure        this computer failed: its disk is full, read-only or broken
    │   └── LocalDatabaseError  a SQLite file of xlbridge cannot be read or written
    └── ApiError
        ├── TransportError        no usable answer, and nothing was applied
        │   └── TruncatedAnswer   the answer to a listing was cut short
        ├── AuthenticationFailed  the credentials were not accepted
        ├── RemoteRejected        the server rejected the request
        └── InDoubt               whether a write was applied is unknown
"""

import errno
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TypeVar

from xlbridge.i18n import Text, untranslated


def resolve_name(name: str, known: Collection[str]) -> str | None:
    """Return the known name that equals ``name`` but for case, accents, hyphens and plural.

    None if there is none, or more than one.
    """
    if name in known:
        return name
    form = _simplify(name)
    matches = [candidate for candidate in known if _simplify(candidate) == form]
    return matches[0] if len(matches) == 1 else None


Named = TypeVar("Named")


def find_named(name: str, known: Mapping[str, Named], message: Text) -> Named:
    """Return what has a name, as ``resolve_name`` matches it.

    Raises ``UsageError`` with the message if there is none; its hint has the known names.
    """
    found = resolve_name(name, known)
    if found is None:
        raise UsageError(
            message.format(name=name),
            Text(pt="{meant}Existem: {names}.", en="{meant}There are: {names}.").format(
                meant=suggestion(name, known), names=", ".join(known)
            ),
        )
    return known[found]


def _simplify(name: str) -> str:
    bare = unicodedata.normalize("NFKD", name.casefold())
    return "".join(filter(str.isalnum, bare)).rstrip("s")


_DID_YOU_MEAN = Text(pt="Você quis dizer {name}? ", en="Did you mean {name}? ")


def suggestion(name: str, known: Iterable[str]) -> Text:
    """Return "Did you mean …?" for the known name closest to a mistyped one, or an empty text."""
    close = closest_name(name, known)
    return _DID_YOU_MEAN.format(name=close) if close else untranslated("")


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to a mistyped one; None if none is similar."""
    # Imported late: only errors need it.
    from difflib import get_close_matches

    folded = {candidate.casefold(): candidate for candidate in known}
    return next(map(folded.__getitem__, get_close_matches(name.casefold(), folded, 1)), None)


def require_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise ``UsageError`` if the value of an option is not one of its choices."""
    if value not in choices:
        message = Text(
            pt="{name} não pode ser {value!r}; opções: {choices}.",
            en="{name} cannot be {value!r}; choose from: {choices}.",
        )
        allowed = ", ".join(repr(choice) for choice in choices if choice is not None)
        raise UsageError(message.format(name=name, value=value, choices=allowed))


def require_folder(folder: Path) -> None:
    """Raise ``UsageError`` if a folder does not exist."""
    if not folder.is_dir():
        message = Text(pt="A pasta {path} não existe.", en="The folder {path} does not exist.")
        raise UsageError(message.format(path=folder))


class XlbridgeError(Exception):
    """Base of all errors of xlbridge.

    ``message``: what happened; ``hint``: what to do about it; ``code``: a stable name of the case,
    by default that of the class (``usage-error``).
    """

    def __init__(self, message: Text, hint: Text | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code: str = re.sub("(?<=[a-z])(?=[A-Z])", "-", type(self).__name__.strip("_")).lower()

    def to_json(self) -> dict[str, str]:
        """Return the error as JSON; ``type`` is the class of the tree above that it belongs to."""
        kind = next(cls for cls in type(self).__mro__ if cls.__module__ == __name__)
        return {
            "type": kind.__name__,
            "code": self.code,
            "message": str(self.message),
            "hint": "" if self.hint is None else str(self.hint),
        }

    def __str__(self) -> str:
        return str(self.message)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...], dict[str, object]]:
        """Support pickling: subclasses take other parameters than ``args``."""
        return Exception.__new__, (type(self), *self.args), self.__dict__


class UsageError(XlbridgeError):
    """The command or call is wrong: no such file, sheet, resource, listing."""


class ConfigError(XlbridgeError):
    """Settings or credentials are wrong or missing."""


class SchemaFileError(XlbridgeError):
    """A resource's schema file is wrong; the message names the file and the line."""


class PlanFileError(XlbridgeError):
    """A batch's plan is wrong; the message names the file, the line and what is allowed."""


class WorkbookRefused(XlbridgeError):
    """A file is not a workbook that can be read safely.

    ``code`` is the stable reason: ``not-xlsx``, ``encrypted``, ``legacy-xls``, ``html``,
    ``csv-unclear``, ``truncated``, ``too-large``, ``hostile``, ``unreadable``, ``worker-lost``.
    """

    def __init__(self, code: str, message: Text, hint: Text | None = None) -> None:
        super().__init__(message, hint)
        self.code = code


class JournalError(XlbridgeError):
    """The upload journal forbids or cannot do what is asked."""


class LocalFailure(XlbridgeError):
    """This computer failed: the disk is full, read-only or broken, a permission is missing, or a
    file of xlbridge was lost or damaged.

    Requests that had been sent by then are in the journal.
    """


class LocalDatabaseError(LocalFailure):
    """A SQLite file of xlbridge on this computer cannot be read or written."""


class ApiError(XlbridgeError):
    """A call to the remote system did not succeed."""


class TransportError(ApiError):
    """No usable answer was received, and nothing was applied."""


class TruncatedAnswer(TransportError):
    """The answer to a listing was cut short: a retry may return all of it."""


class UnknownFields(TransportError):
    """The records of an answer have fields that are not understood, and none that names them."""


class AuthenticationFailed(ApiError):
    """The credentials were not accepted."""


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One item of the remote system's error envelope.

    Source: the spec, Errors (``key``, ``value``).
    """

    key: str
    value: str


class RemoteRejected(ApiError):
    """The remote system rejected the request.

    ``status`` is the HTTP status; ``details`` are the items of the error envelope, or one with an
    empty key if the answer was a bare message.
    """

    def __init__(
        self,
        message: Text,
        *,
        status: int,
        details: Sequence[ErrorDetail] = (),
        hint: Text | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.details: tuple[ErrorDetail, ...] = tuple(details)


class InDoubt(ApiError):
    """A write may have been applied: its answer is missing or unreadable."""


class ExitCode(IntEnum):
    """Exit codes of the contract, and ``CRASHED`` for a defect of xlbridge.

    ``COMPUTER_FAILED`` means that nothing is in doubt; unsettled requests make it ``IN_DOUBT``.
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
    """Return the exit code of an error."""
    return next(code for kind, code in _BY_ERROR if isinstance(error, kind))


def worst_code(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the worst of several exit codes; doubt comes first."""
    return max(codes, key=lambda code: (code is ExitCode.IN_DOUBT, code), default=ExitCode.GOOD)


NO_FILE = Text(
    pt="O arquivo {path} não existe. Confira o nome e a pasta.",
    en="The file {path} does not exist. Check its name and folder.",
)
NOT_AS_DOCUMENTED = Text(
    pt="O sistema não responde como a documentação descreve. Veja em que: xlbridge doctor "
    "--first-contact",
    en="The system does not answer as documented. See how: xlbridge doctor --first-contact",
    page=Text(
        pt="O sistema não responde como a documentação descreve. Avise quem cuida do ambiente.",
        en="The system does not answer as documented. Tell the person who looks after the "
        "environment.",
    ),
)
_OS_ERROR_REASONS: Mapping[int, Text] = {
    errno.ENOENT: Text(pt="o arquivo ou a pasta não existe", en="no such file or directory"),
    errno.EACCES: Text(pt="falta permissão", en="permission denied"),
    errno.EPERM: Text(pt="falta permissão", en="permission denied"),
    errno.EISDIR: Text(pt="é uma pasta", en="it is a directory"),
    errno.ENOTDIR: Text(
        pt="parte do caminho não é uma pasta", en="part of the path is not a directory"
    ),
    errno.EEXIST: Text(pt="já existe", en="it already exists"),
    errno.ENOSPC: Text(pt="não há espaço no disco", en="no space left on the disk"),
    errno.EDQUOT: Text(pt="a cota do disco está esgotada", en="the disk quota is exceeded"),
    errno.EIO: Text(pt="o disco falhou", en="the disk failed"),
    errno.EROFS: Text(pt="o disco é só de leitura", en="the disk is read-only"),
    errno.ENAMETOOLONG: Text(pt="o nome é longo demais", en="the name is too long"),
    errno.EFBIG: Text(
        pt="o arquivo passa do tamanho permitido", en="the file exceeds the maximum size"
    ),
    errno.EADDRINUSE: Text(
        pt="a porta está em uso; escolha outra com --port",
        en="the port is in use; choose another with --port",
    ),
}

_CLOSE_OR_WRITE_ELSEWHERE = Text(
    pt="Feche o arquivo se ele estiver aberto no Excel, ou grave em outra pasta.",
    en="Close the file if it is open in Excel, or write to another folder.",
)
_OS_ERROR_REMEDIES: Mapping[int, Text] = {
    errno.ENOENT: Text(
        pt="Crie a pasta ou grave em outra.", en="Create the folder, or write to another one."
    ),
    errno.ENOSPC: Text(
        pt="Libere espaço ou grave em outro disco.",
        en="Free some space, or write to another disk.",
    ),
    errno.EDQUOT: Text(
        pt="Libere espaço na sua cota ou grave em outro disco.",
        en="Free some space in your quota, or write to another disk.",
    ),
    errno.EIO: Text(
        pt="Grave em outro disco e verifique este.", en="Write to another disk, and check this one."
    ),
    errno.EACCES: _CLOSE_OR_WRITE_ELSEWHERE,
    errno.EPERM: _CLOSE_OR_WRITE_ELSEWHERE,
    errno.EROFS: Text(pt="Grave em outra pasta.", en="Write to another folder."),
    errno.ENAMETOOLONG: Text(pt="Use um nome mais curto.", en="Use a shorter name."),
    errno.EFBIG: Text(
        pt="Grave em outro disco ou aumente o limite do tamanho de arquivos.",
        en="Write to another disk, or raise the file size limit.",
    ),
}
_FREE_SOME_SPACE = Text(
    pt="Libere espaço no disco ou escolha outra pasta com TMPDIR (no Windows, TEMP).",
    en="Free some space on the disk, or choose another folder with TMPDIR (on Windows, TEMP).",
)
_CHECK_PERMISSIONS = Text(
    pt="Confira as permissões da pasta ou use outra; a do próprio xlbridge é definida por "
    "XLBRIDGE_HOME.",
    en="Check the permissions of the folder, or use another one; xlbridge's own is set with "
    "XLBRIDGE_HOME.",
    page=Text(
        pt="Confira as permissões da pasta, ou use outra.",
        en="Check the permissions of the folder, or use another one.",
    ),
)
_DEFAULT_REMEDY = Text(
    pt="Confira a pasta e feche o arquivo se ele estiver aberto no Excel.",
    en="Check the folder, and close the file if it is open in Excel.",
)

_LOCAL_FAILURES = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.ENODEV),
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOLCK, errno.EBUSY, errno.ENXIO),
    }
)
_NO_TEMPORARY_FOLDER = Text(
    pt="não há pasta de arquivos temporários com permissão de gravação",
    en="no folder for temporary files is writable",
)


_LACKS_MEMORY = ("can't start new thread", "failed to map segment", "cannot allocate memory")
"""Parts of messages about memory that is not there, of errors that are no ``MemoryError``."""


def is_local_failure(failure: BaseException) -> bool:
    """Return whether the computer failed, rather than a path being wrong or the program."""
    if isinstance(failure, OSError):
        return (
            isinstance(failure, PermissionError)
            or failure.errno in _LOCAL_FAILURES
            or _lacks_temporary_folder(failure)
        )
    if isinstance(failure, MemoryError):
        return True
    named = isinstance(failure, RuntimeError | ImportError)
    return named and any(part in str(failure).lower() for part in _LACKS_MEMORY)


def _lacks_temporary_folder(failure: OSError) -> bool:
    """Return whether ``tempfile`` found no usable folder; its error names no file."""
    reason = failure.strerror or ""
    return failure.filename is None and reason.startswith("No usable temporary directory")


def local_failure(failure: BaseException) -> LocalFailure:
    """Return the error to raise for a failure of this computer."""
    if not isinstance(failure, OSError):
        return LocalFailure(
            Text(
                pt="Falta memória neste computador.",
                en="This computer does not have enough memory.",
            ),
            Text(
                pt="Feche outros programas ou aumente o limite de memória e repita o comando.",
                en="Close other programs, or raise the memory limit, then repeat the command.",
            ),
        )
    path = failure.filename2 or failure.filename
    place = Text(pt="este computador", en="this computer") if path is None else str(path)
    return LocalFailure(
        Text(
            pt="Não foi possível ler ou gravar em {place}: {reason}.",
            en="Cannot read or write on {place}: {reason}.",
        ).format(place=place, reason=os_error_reason(failure)),
        os_error_remedy(failure),
    )


def os_error_reason(failure: OSError) -> Text:
    """Return the reason for an error, untranslated if it is not a common one."""
    if _lacks_temporary_folder(failure):
        return _NO_TEMPORARY_FOLDER
    reason = untranslated(failure.strerror or type(failure).__name__)
    return _OS_ERROR_REASONS.get(failure.errno or 0, reason)


def os_error_remedy(failure: OSError) -> Text:
    """Return what the user can do about a file that could not be written."""
    if _lacks_temporary_folder(failure):
        return _FREE_SOME_SPACE
    if isinstance(failure, PermissionError) and _concerns_folder(failure):
        return _CHECK_PERMISSIONS
    return _OS_ERROR_REMEDIES.get(failure.errno or 0, _DEFAULT_REMEDY)


CHECK_HOME = Text(
    pt="Confira a pasta (XLBRIDGE_HOME), as permissões e o espaço em disco, ou defina "
    "XLBRIDGE_HOME com outra pasta.",
    en="Check the folder (XLBRIDGE_HOME), its permissions and the disk space, or set "
    "XLBRIDGE_HOME to another folder.",
    page=Text(
        pt="Confira as permissões da pasta e o espaço em disco, ou peça à TI que o faça.",
        en="Check the permissions of the folder and the disk space, or ask IT to do so.",
    ),
)
"""Remedy if a file in the home cannot be read or written."""


def _concerns_folder(failure: OSError) -> bool:
    """Return whether the folder is at fault: there is no file at the path."""
    path = failure.filename2 or failure.filename
    try:
        return path is not None and not Path(path).is_file()
    except PermissionError:
        return True  # The folder may not even be entered.
