"""Which language messages are shown in."""

import locale
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Literal

Language = Literal["pt-BR", "en"]
LANGUAGES: tuple[Language, ...] = ("pt-BR", "en")

_active: ContextVar[Language] = ContextVar("xlbridge_language", default="en")


def active_language() -> Language:
    """Return the language that messages are rendered in now."""
    return _active.get()


def set_language(language: Language) -> None:
    """Render messages in ``language`` from here on, in this context."""
    _active.set(language)


def choose(environment: Mapping[str, str]) -> Language:
    """Return the language that the environment asks for.

    ``XLBRIDGE_LANG`` decides; without it the locale does; what is not Portuguese is English.
    """
    wanted = environment.get("XLBRIDGE_LANG") or _locale_name(environment)
    return "pt-BR" if wanted.lower().startswith("pt") else "en"


def _locale_name(environment: Mapping[str, str]) -> str:
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(variable):
            return environment[variable]
    return locale.getlocale()[0] or ""
