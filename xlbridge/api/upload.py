"""A workbook on its way to the remote system."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Upload:
    """A workbook to send: the name that the remote system is told, and its bytes."""

    filename: str
    content: bytes = field(repr=False)
