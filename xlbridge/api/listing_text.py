"""The text of a listing's answer: an envelope whose records are read one by one."""

from collections.abc import Iterator, Mapping
from typing import Any

from xlbridge.api.json_text import JsonText, ReadNumber


class ListingText:
    """An envelope while it comes in, piece by piece, whose ``data`` is not kept.

    ``names`` has every accepted spelling of the envelope's own names. ``envelope`` is whole once
    ``records`` has come to its end; ``data`` is in it only where it is no list. ``has_list`` says
    whether a list came. Every method raises ``BadJson``, and whatever ``pieces`` raises.
    """

    def __init__(
        self,
        pieces: Iterator[bytes],
        names: Mapping[str, str],
        numbers: ReadNumber | None = None,
    ) -> None:
        self.envelope: dict[str, Any] = {}
        self.has_list = False
        self._names = names
        self._text = JsonText(pieces, numbers)

    def begins_with(self, mark: str) -> bool:
        """Say whether a mark comes first."""
        return self._text.peek() == mark

    def opening(self, length: int) -> str:
        """Return the text from where it is read now, as far as it has come in."""
        return self._text.opening(length)

    def records(self) -> Iterator[Any]:
        """Yield the items of ``data`` as they come in, unless the envelope has failed before."""
        text = self._text
        text.expect("{")
        while True:
            name = text.value()
            text.expect(":")
            member = self._names.get(name) if isinstance(name, str) else None
            if member == "data" and text.peek() == "[" and self.envelope.get("success", True):
                self.has_list = True
                yield from text.items()
            else:
                self.envelope[member or str(name)] = text.value()
            if not text.accept(","):
                break
        text.expect("}")
        text.expect("")
