"""What became of one attempt of a write."""

from dataclasses import dataclass
from typing import Any

from xlbridge.errors import Complaint
from xlbridge.i18n import Text


@dataclass(frozen=True, slots=True)
class NotExecuted:
    """The request was certainly not applied; it may be sent again.

    ``retry_after`` is the number of seconds the remote system asked to wait, where it did.
    """

    reason: Text
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The remote system answered that it did not do it, and why.

    ``complaints`` are the items of the error envelope, one with an empty key where the answer was
    a bare message. Source: the spec, Errors.
    """

    status: int
    complaints: tuple[Complaint, ...]


@dataclass(frozen=True, slots=True)
class Executed:
    """The request was applied; ``data`` has the type that the operation declares."""

    data: Any


@dataclass(frozen=True, slots=True)
class Doubtful:
    """Whether the request was applied cannot be known from what came back."""

    reason: Text


Outcome = NotExecuted | Rejected | Executed | Doubtful
