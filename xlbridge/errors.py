"""The exceptions of xlbridge, and the reasons of operating-system errors in both languages.

Bad data is never raised: it is returned as findings. What is raised is one of these::

    XlbridgeError
    ├── UsageError          the command or call is wrong: no such file, sheet, resource, listing
    ├── ConfigError         settings or a profile are wrong or missing
    ├── SchemaFileError     a resource's schema file is wrong
    ├── PlanFileError       a batch's plan is wrong
    ├── WorkbookRefused     a file is not a workbook that can be read safely
    ├── JournalError        the upload journal forbids or cannot do what is asked
    ├── LocalFailure        this computer failed: its disk is full, read-only, out of order
    │   └── LocalDatabaseError  a SQLite file of xlbridge cannot be read or written
    └── ApiError
        ├── TransportError        no usable answer came, and nothing was applied
        │   └── TruncatedAnswer   the answer to a listing broke off
        ├── AuthenticationFailed  the credentials were not accepted
        ├── RemoteRejected        the server rejected the request
        └── InDoubt               whether a write was applied is unknown
"""

import errno
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlbridge.i18n import Text, untranslated


def understood_name(name: str, known: Iterable[str]) -> str | None:
    """Return the one known name that a name stands for, but for case, accents, hyphens and plural;
    None where there is none, or more than one."""
    forms = {each: _simplified(each) for each in known}
    same = [each for each, form in forms.items() if form == _simplified(name)]
    return name if name in forms else same[0] if len(same) == 1 else None


def _simplified(name: str) -> str:
    bare = unicodedata.normalize("NFKD", name.casefold())
    return "".join(filter(str.isalnum, bare)).rstrip("s")


_MEANT = Text(pt="Seria {name}? ", en="Did you mean {name}? ")


def suggestion(name: str, known: Iterable[str]) -> Text:
    """Return a question for the known name that is most like a mistyped one, or nothing."""
    close = closest(name, known)
    return _MEANT.format(name=close) if close else untranslated("")


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a mistyped one, None where none is like it."""
    # Only what goes wrong needs it.
    from difflib import get_close_matches

    folded = {each.casefold(): each for each in known}
    return next(map(folded.__getitem__, get_close_matches(name.casefold(), folded, 1)), None)


def require_choice(name: str, given: object, choices: Sequence[object]) -> None:
    """Raise ``UsageError`` where the value of an option is none of its choices."""
    if given not in choices:
        there = ", ".join(repr(choice) for choice in choices if choice is not None)
        message = Text(
            pt="{name} não pode ser {given!r}; há: {there}.",
            en="{name} cannot be {given!r}; there are: {there}.",
        )
        raise UsageError(message.format(name=name, given=given, there=there))


class XlbridgeError(Exception):
    """Error that stops a command: what happened, and what to do about it."""

    def __init__(self, message: Text, hint: Text | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return str(self.message)


class UsageError(XlbridgeError):
    """The command or call is wrong: no such file, sheet, resource, listing."""


class ConfigError(XlbridgeError):
    """Settings or credentials are wrong or missing."""


class SchemaFileError(XlbridgeError):
    """A resource's schema file is wrong; the message names the file and the place in it."""


class PlanFileError(XlbridgeError):
    """A batch's plan is wrong; the message names the file, the lines and what is allowed."""


class WorkbookRefused(XlbridgeError):
    """A file is not a workbook that can be read safely.

    ``code`` is stable and says why: ``not-xlsx``, ``encrypted``, ``legacy-xls``, ``html``,
    ``csv-unclear``, ``truncated``, ``too-large``, ``hostile``, ``unreadable``, ``worker-lost``.
    """

    def __init__(self, code: str, message: Text, hint: Text | None = None) -> None:
        super().__init__(message, hint)
        self.code = code


class JournalError(XlbridgeError):
    """The upload journal forbids, or cannot do, what is asked."""


class LocalFailure(XlbridgeError):
    """Failure of the computer: disk is full, read-only or out of order, a permission is missing,
    a file of ours was lost or damaged.

    What had left by then is in the journal; where it says nothing, nothing had.
    """


class LocalDatabaseError(LocalFailure):
    """A database of ours on this computer cannot be read or written."""


class ApiError(XlbridgeError):
    """A call to the remote system did not succeed."""


class TransportError(ApiError):
    """Failure without a usable answer, in which nothing was applied."""


class TruncatedAnswer(TransportError):
    """The answer to a listing broke off before its end: it may come whole the next time."""


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

    ``status`` is the HTTP status; ``details`` are the items of the error envelope, one with an
    empty key where the answer was a bare message.
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
        self.details = tuple(details)


class InDoubt(ApiError):
    """A write was begun and its answer is missing or unreadable: it may have been applied."""


_OS_ERROR_REASONS: Mapping[int, Text] = {
    errno.ENOENT: Text(
        pt="o arquivo ou a pasta não existe", en="there is no such file or directory"
    ),
    errno.EACCES: Text(pt="falta permissão", en="permission denied"),
    errno.EPERM: Text(pt="falta permissão", en="permission denied"),
    errno.EISDIR: Text(pt="é uma pasta", en="it is a directory"),
    errno.ENOTDIR: Text(
        pt="parte do caminho não é uma pasta", en="part of the path is not a directory"
    ),
    errno.EEXIST: Text(pt="já existe", en="it exists already"),
    errno.ENOSPC: Text(pt="não há espaço no disco", en="no space left on the disk"),
    errno.EDQUOT: Text(pt="a cota do disco está esgotada", en="the quota of the disk is used up"),
    errno.EIO: Text(pt="o disco falhou", en="the disk failed"),
    errno.EROFS: Text(pt="o disco é só de leitura", en="the disk is read-only"),
    errno.ENAMETOOLONG: Text(pt="o nome é longo demais", en="the name is too long"),
    errno.EFBIG: Text(
        pt="o arquivo passa do tamanho permitido", en="the file exceeds the size that is allowed"
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
        pt="Crie a pasta, ou grave em outra.", en="Create the folder, or write to another one."
    ),
    errno.ENOSPC: Text(
        pt="Libere espaço, ou grave em outro disco.",
        en="Free some space, or write to another disk.",
    ),
    errno.EDQUOT: Text(
        pt="Libere espaço da sua cota, ou grave em outro disco.",
        en="Free some space of your quota, or write to another disk.",
    ),
    errno.EIO: Text(
        pt="Grave em outro disco, e confira este.", en="Write to another disk, and check this one."
    ),
    errno.EACCES: _CLOSE_OR_WRITE_ELSEWHERE,
    errno.EPERM: _CLOSE_OR_WRITE_ELSEWHERE,
    errno.EROFS: Text(pt="Grave em outra pasta.", en="Write to another folder."),
    errno.ENAMETOOLONG: Text(pt="Dê um nome mais curto.", en="Give it a shorter name."),
    errno.EFBIG: Text(
        pt="Grave em outro disco, ou aumente o limite do tamanho de arquivos.",
        en="Write to another disk, or raise the limit on the size of files.",
    ),
}
_FREE_SOME_SPACE = Text(
    pt="Libere espaço no disco, ou escolha outra pasta com TMPDIR (no Windows, TEMP).",
    en="Free some space on the disk, or choose another folder by TMPDIR (on Windows, TEMP).",
)
_CHECK_PERMISSIONS = Text(
    pt="Confira as permissões da pasta, ou use outra; a do próprio xlbridge se escolhe com "
    "XLBRIDGE_HOME.",
    en="Check the permissions of the folder, or use another one; xlbridge's own is chosen by "
    "XLBRIDGE_HOME.",
)
_DEFAULT_REMEDY = Text(
    pt="Confira a pasta, e feche o arquivo se ele estiver aberto no Excel.",
    en="Check the folder, and close the file if it is open in Excel.",
)


_LOCAL_FAILURES = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.ENODEV),
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOLCK, errno.EBUSY, errno.ENXIO),
    }
)
_NO_TEMPORARY_FOLDER = Text(
    pt="não há pasta de arquivos temporários em que se possa gravar",
    en="there is no folder for temporary files that can be written to",
)


def is_local_failure(failure: OSError) -> bool:
    """Tell whether it is the computer that failed, and not the path that is wrong."""
    missing = isinstance(failure, PermissionError) or _lacks_temporary_folder(failure)
    return missing or failure.errno in _LOCAL_FAILURES


def _lacks_temporary_folder(failure: OSError) -> bool:
    """Tell whether ``tempfile`` found no folder: it has tried all of them, and names none."""
    own = failure.strerror or ""
    return failure.filename is None and own.startswith("No usable temporary directory")


def local_failure(failure: OSError) -> LocalFailure:
    """Return the error that tells of a failure of this computer, and of the file it concerns."""
    path = failure.filename2 or failure.filename
    place = Text(pt="este computador", en="this computer") if path is None else str(path)
    return LocalFailure(
        Text(
            pt="Não foi possível ler ou gravar em {place}: {reason}.",
            en="Cannot read or write at {place}: {reason}.",
        ).format(place=place, reason=os_error_reason(failure)),
        os_error_remedy(failure),
    )


def os_error_reason(failure: OSError) -> Text:
    """Return the reason; one that is not among the usual ones in the system's own words."""
    if _lacks_temporary_folder(failure):
        return _NO_TEMPORARY_FOLDER
    own = failure.strerror or type(failure).__name__
    return _OS_ERROR_REASONS.get(failure.errno or 0, untranslated(own))


def os_error_remedy(failure: OSError) -> Text:
    """Return what a person can do about a file that could not be written."""
    if _lacks_temporary_folder(failure):
        return _FREE_SOME_SPACE
    if isinstance(failure, PermissionError) and _concerns_folder(failure):
        return _CHECK_PERMISSIONS
    return _OS_ERROR_REMEDIES.get(failure.errno or 0, _DEFAULT_REMEDY)


def _concerns_folder(failure: OSError) -> bool:
    """Say whether the failure is one of the folder: no file stands at the path."""
    path = failure.filename2 or failure.filename
    try:
        return path is not None and not Path(path).is_file()
    except PermissionError:
        # Its folder may not even be entered.
        return True
