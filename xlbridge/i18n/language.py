"""Which language messages are shown in."""

import locale
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Language = Literal["pt-BR", "en"]
LANGUAGES: tuple[Language, ...] = ("pt-BR", "en")

_PORTUGUESE = ("pt", "portuguese")
"""How a locale for it begins; the second is Windows' way."""

_of_process: Language = "en"
_here: ContextVar[Language | None] = ContextVar("xlbridge_language", default=None)


def active_language() -> Language:
    """Return the language that messages are rendered in now."""
    return _here.get() or _of_process


def set_language(language: Language) -> None:
    """Render messages in ``language`` from here on, in all threads of this process."""
    global _of_process
    _of_process = language


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Render messages in ``language`` within the block, in this thread only."""
    token = _here.set(language)
    try:
        yield
    finally:
        _here.reset(token)


def choose(environment: Mapping[str, str]) -> Language:
    """Return the language that the environment asks for.

    ``XLBRIDGE_LANG`` decides; without it the locale does; what is not Portuguese is English.
    """
    wanted = environment.get("XLBRIDGE_LANG") or _locale_name(environment)
    return "pt-BR" if wanted.lower().startswith(_PORTUGUESE) else "en"


def _locale_name(environment: Mapping[str, str]) -> str:
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(variable):
            return environment[variable]
    # Not ``getlocale``: it fails where the system's name for a locale is none that it knows.
    return locale.setlocale(locale.LC_CTYPE)
