"""What became of one attempt of a write."""

from dataclasses import dataclass
from typing import Any

from xlbridge.errors import ApiError, Complaint, InDoubt, RemoteRejected, TransportError
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

CHECK_ADDRESS = Text(
    pt="Confira o endereço do sistema (XLBRIDGE_BASE_URL), a rede e o proxy: xlbridge doctor",
    en="Check the system's address (XLBRIDGE_BASE_URL), the network and the proxy: xlbridge doctor",
)


def data_of(outcome: Outcome, *, repeatable: bool, answered: bool = True) -> Any:
    """Return what an executed request answered, or raise what became of it.

    Of a repeatable request doubt is no matter: it can be made again. ``answered`` says that a
    reply came. Raises ``RemoteRejected``, ``TransportError`` and ``InDoubt``.
    """
    match outcome:
        case Executed(data):
            return data
        case Rejected(status, complaints):
            messages = [complaint.value for complaint in complaints if complaint.value]
            raise RemoteRejected(_refusal(status, messages), status=status, complaints=complaints)
        case NotExecuted(reason):
            raise TransportError(reason, None if answered else CHECK_ADDRESS)
        case Doubtful(reason):
            raise lost(reason, doubtful=not repeatable)


def lost(reason: Text, *, doubtful: bool) -> ApiError:
    """Return the error for a request without a clear answer; ``doubtful`` where it may write."""
    if not doubtful:
        return TransportError(reason, CHECK_ADDRESS)
    return InDoubt(
        reason,
        Text(
            pt="O pedido pode ter sido aplicado ou não: confira no sistema antes de repetir.",
            en="The request may or may not have been applied: look in the system before "
            "repeating it.",
        ),
    )


def _refusal(status: int, messages: list[str]) -> Text:
    if not messages:
        return Text(
            pt="O sistema recusou (status {status}), sem dizer por quê.",
            en="The system refused (status {status}), without saying why.",
        ).format(status=status)
    return Text(
        pt="O sistema recusou (status {status}): {messages}",
        en="The system refused (status {status}): {messages}",
    ).format(status=status, messages="; ".join(messages))
