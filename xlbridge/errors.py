"""The exceptions of xlbridge.

Bad data is never raised: it is returned as findings. What is raised is one of these::

    XlbridgeError
    ├── UsageError          the command or call asks for what cannot be
    ├── ConfigError         settings or profile are wrong or missing
    ├── SchemaFileError     a resource's schema file is wrong
    ├── PlanFileError       a batch's plan is wrong
    ├── WorkbookRefused     a file is not a workbook that can be read safely
    ├── JournalError        the upload journal forbids or cannot do what is asked
    ├── KeptFileFailed      a database of ours on this computer cannot be read or written
    └── ApiError
        ├── TransportError        no usable answer, and nothing was applied
        ├── AuthenticationFailed  the credentials were not accepted
        ├── RemoteRejected        the remote system said no, and why
        └── InDoubt               whether a write was applied cannot be known
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xlbridge.i18n import Text


class XlbridgeError(Exception):
    """Anything that stops a command: what happened, and what to do about it."""

    def __init__(self, message: Text, hint: Text | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return str(self.message)


class UsageError(XlbridgeError):
    """The command or call asks for what cannot be: no such file, sheet, resource, listing."""


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


class KeptFileFailed(XlbridgeError):
    """A database of ours on this computer cannot be read or written."""


class ApiError(XlbridgeError):
    """A call to the remote system did not succeed."""


class TransportError(ApiError):
    """No usable answer came, and nothing was applied."""


class AuthenticationFailed(ApiError):
    """The credentials were not accepted."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """One item of the remote system's error envelope.

    Source: the spec, Errors (``key``, ``value``).
    """

    key: str
    value: str


class RemoteRejected(ApiError):
    """The remote system answered that it will not do it, and why.

    ``status`` is the HTTP status; ``complaints`` are the items of the error envelope, one with an
    empty key where the answer was a bare message.
    """

    def __init__(
        self,
        message: Text,
        *,
        status: int,
        complaints: Sequence[Complaint] = (),
        hint: Text | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.complaints = tuple(complaints)


class InDoubt(ApiError):
    """A write was begun and its answer is missing or unreadable: it may have been applied."""
