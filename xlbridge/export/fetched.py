"""How far an export is, and what came of each of its windows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xlbridge.api.splitting import Window


@dataclass(frozen=True, slots=True)
class FetchedWindow:
    """A window after it was fetched.

    ``saturated`` says that the answer was as full as an answer can be, and could not be split:
    there may be more records; ``limited`` that it was the user who wanted no more. ``digest`` is
    SHA-256 of the answers as they came. ``keys`` are the first and the last one of what was asked
    for by key.
    """

    window: Window
    records: int
    saturated: bool
    digest: str = ""
    limited: bool = False
    keys: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Advance:
    """How far an export is. What is left is None where that cannot be told.

    ``records_left`` are those that are read one by one; while their keys are still being fetched
    ``records`` counts these, and ``is_of_keys`` says so.
    """

    records: int
    windows: int
    windows_left: int | None
    records_left: int | None = None
    is_of_keys: bool = False


Progress = Callable[[Advance], None]
