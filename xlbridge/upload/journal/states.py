"""The states of an upload, and what each is called outside.

Source: the upload protocol (``docs/upload-protocol.md``).
"""

from enum import StrEnum


class State(StrEnum):
    """Where a job stands; each is durable before the request that it announces.

    ``SENDING_PARTS`` is that of a parent whose parts are being sent.
    """

    PREPARED = "prepared"
    PREVIEWING = "previewing"
    PREVIEWED = "previewed"
    SENDING = "sending"
    SENDING_PARTS = "sending_parts"
    STAGING = "staging"
    STAGED = "staged"
    STARTING = "starting"
    POLLING = "polling"
    IN_DOUBT = "in_doubt"
    NEEDS_PERSON = "needs_person"
    DONE = "done"
    PARTIAL = "partial"
    REJECTED = "rejected"
    ABANDONED = "abandoned"

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens to the job by itself."""
        return self in _FINAL

    @property
    def frees_rows(self) -> bool:
        """Whether the same rows may be sent again: nothing of the job was applied."""
        return self in _FREE

    @property
    def public(self) -> str:
        """The state's name in the contract of ``upload --format json``."""
        return _PUBLIC.get(self, self.value)


UNSENT = frozenset({State.PREPARED, State.PREVIEWING})
"""The states in which nothing that could write has been sent."""

_FREE = frozenset({State.PREVIEWED, State.REJECTED, State.ABANDONED})
_FINAL = _FREE | {State.DONE, State.PARTIAL, State.NEEDS_PERSON}
_PUBLIC = {
    State.PREPARED: "failed",
    State.PREVIEWING: "failed",
    State.ABANDONED: "failed",
    State.SENDING: "in_doubt",
    State.STAGING: "in_doubt",
    State.NEEDS_PERSON: "in_doubt",
    State.STAGED: "queued",
    State.STARTING: "processing",
    State.POLLING: "processing",
    State.SENDING_PARTS: "processing",
}
