"""The exceptions of xlbridge, and the reasons of operating-system errors in both languages.

Bad data is never raised: it is returned as findings. What is raised is one of these::

    XlbridgeError
    ├── UsageError          the command or call is wrong: no such file, sheet, resource, listing
    ├── ConfigError         settings or a profile are wrong or missing
    ├── SchemaFileError     a resource's schema file is wrong
    ├── PlanFileError       a batch's plan is wrong
    ├── WorkbookRefused     a file is not a workbook that can be read safely
    ├── JournalError        the upload journal forbids or cannot do what is asked
    ├── LocalDatabaseError  a SQLite file of xlbridge cannot be read or written
    └── ApiError
        ├── TransportError        no usable answer came, and nothing was applied
        │   └── TruncatedAnswer   the answer to a listing broke off
        ├── AuthenticationFailed  the credentials were not accepted
        ├── RemoteRejected        the server rejected the request
        └── InDoubt               whether a write was applied is unknown
"""

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlbridge.i18n import Text, untranslated


class XlbridgeError(Exception):
    """Anything that stops a command: what happened, and what to do about it."""

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
    """A file is not an .xlsx workbook that can be read safely.

    ``code`` is stable and says why: ``not-xlsx``, ``encrypted``, ``legacy-xls``, ``html``,
    ``truncated``, ``too-large``, ``hostile``, ``unreadable``, ``worker-lost``.
    """

    def __init__(self, code: str, message: Text, hint: Text | None = None) -> None:
        super().__init__(message, hint)
        self.code = code


class JournalError(XlbridgeError):
    """The upload journal forbids, or cannot do, what is asked."""


class LocalDatabaseError(XlbridgeError):
    """A database of ours on this computer cannot be read or written."""


class ApiError(XlbridgeError):
    """A call to the remote system did not succeed."""


class TransportError(ApiError):
    """No usable answer came, and nothing was applied."""


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
    errno.EROFS: Text(pt="o disco é só de leitura", en="the disk is read-only"),
    errno.ENAMETOOLONG: Text(pt="o nome é longo demais", en="the name is too long"),
    errno.EFBIG: Text(
        pt="o arquivo passa do tamanho permitido", en="the file exceeds the size that is allowed"
    ),
}

_CLOSE_OR_WRITE_ELSEWHERE = Text(
    pt="Feche o arquivo se ele estiver aberto no Excel, ou grave noutra pasta.",
    en="Close the file if it is open in Excel, or write to another folder.",
)
_OS_ERROR_REMEDIES: Mapping[int, Text] = {
    errno.ENOENT: Text(
        pt="Crie a pasta, ou grave noutra.", en="Create the folder, or write to another one."
    ),
    errno.ENOSPC: Text(
        pt="Libere espaço, ou grave noutro disco.", en="Free some space, or write to another disk."
    ),
    errno.EACCES: _CLOSE_OR_WRITE_ELSEWHERE,
    errno.EPERM: _CLOSE_OR_WRITE_ELSEWHERE,
    errno.EROFS: Text(pt="Grave noutra pasta.", en="Write to another folder."),
    errno.ENAMETOOLONG: Text(pt="Dê um nome mais curto.", en="Give it a shorter name."),
    errno.EFBIG: Text(
        pt="Grave noutro disco, ou aumente o limite do tamanho de arquivos.",
        en="Write to another disk, or raise the limit on the size of files.",
    ),
}
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


def os_error_reason(failure: OSError) -> Text:
    """Return the reason; one that is not among the usual ones in the system's own words."""
    own = failure.strerror or type(failure).__name__
    return _OS_ERROR_REASONS.get(failure.errno or 0, untranslated(own))


def os_error_remedy(failure: OSError) -> Text:
    """Return what a person can do about a file that could not be written."""
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
