"""Messages in Portuguese and English: each is declared once, in both languages."""

import locale
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

Language = Literal["pt-BR", "en"]
LANGUAGES: tuple[Language, ...] = ("pt-BR", "en")

_PORTUGUESE = ("pt", "portuguese")
"""Beginnings of its locales; the second is that of Windows."""

_process_language: Language = "en"
_context_language: ContextVar[Language | None] = ContextVar("xlbridge_language", default=None)


def active_language() -> Language:
    """Return the language that messages are rendered in now."""
    return _context_language.get() or _process_language


def set_language(language: Language) -> None:
    """Render messages in ``language`` from here on, in all threads of this process.

    Raises ``ValueError`` for another one than Portuguese and English.
    """
    global _process_language
    known = language_named(language)
    if known is None:
        raise ValueError(f"{language!r} is none of the languages: {', '.join(LANGUAGES)}")
    _process_language = known


@contextmanager
def override_language(language: Language) -> Iterator[None]:
    """Render messages in ``language`` within the block, in this thread only."""
    token = _context_language.set(language)
    try:
        yield
    finally:
        _context_language.reset(token)


def language_from_environment(environment: Mapping[str, str]) -> Language:
    """Return the language that the environment asks for.

    ``XLBRIDGE_LANG`` decides; without it the locale does; what is not Portuguese is English.
    """
    wanted = environment.get("XLBRIDGE_LANG") or _locale_name(environment)
    return "pt-BR" if wanted.lower().startswith(_PORTUGUESE) else "en"


def language_named(name: str) -> Language | None:
    """Return the language that a name as ``pt``, ``pt_BR`` or ``en-us`` is for."""
    plain = name.strip().lower().replace("_", "-").partition(".")[0]
    if re.fullmatch("pt(-[a-z]{2})?|portuguese|portugues|português", plain):
        return "pt-BR"
    return "en" if re.fullmatch("en(-[a-z]{2})?|english", plain) else None


def _locale_name(environment: Mapping[str, str]) -> str:
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(variable):
            return environment[variable]
    # Not ``getlocale``: it fails where the system's name for a locale is none that it knows.
    return locale.setlocale(locale.LC_CTYPE)


@dataclass(frozen=True, slots=True)
class Text:
    """A message in Portuguese and English, with ``str.format`` placeholders.

    ``{n:row|rows}`` stands for the word that agrees with the number ``n``: the first for one, the
    second for any other number. The words may hold placeholders of their own.

    Both languages stand side by side, so that neither can fall behind the other; a test
    compares their placeholders.
    """

    pt: str
    en: str

    def format(self, **values: object) -> "Text":
        """Return the message with its placeholders filled in, in both languages.

        A value that is itself a ``Text`` is filled in with the matching language.
        """
        return Text(
            pt=_fill(self.pt, {k: v.pt if isinstance(v, Text) else v for k, v in values.items()}),
            en=_fill(self.en, {k: v.en if isinstance(v, Text) else v for k, v in values.items()}),
        )

    def to_json(self) -> str | dict[str, str]:
        """Return the message as files keep it, which a person of either language may read later."""
        return self.en if self.pt == self.en else {"pt": self.pt, "en": self.en}

    @classmethod
    def of_json(cls, stored: str | Mapping[str, str]) -> "Text":
        """Return the message that a file has; earlier versions kept many in one language."""
        return untranslated(stored) if isinstance(stored, str) else cls(**stored)

    def __str__(self) -> str:
        return self.pt if active_language() == "pt-BR" else self.en


_SEPARATOR = "|"
_WORD_FORM = r"((?:[^{}|]|\{\w+\})*)"
_PLURAL_FORMS = re.compile(rf"\{{(\w+):{_WORD_FORM}\|{_WORD_FORM}\}}")


def _fill(template: str, values: Mapping[str, object]) -> str:
    def agreeing(place: re.Match[str]) -> str:
        number, one, several = place.groups()
        return one if values[number] == 1 else several

    if _SEPARATOR in template:  # Looking for the words takes longer than all the rest.
        template = _PLURAL_FORMS.sub(agreeing, template)
    return template.format(**values)


def untranslated(text: str) -> Text:
    """Return a text that is the same in both languages."""
    return Text(pt=text, en=text)


def joined(texts: Iterable[Text]) -> Text:
    """Return several messages as one, in their order."""
    told = list(texts)
    return Text(pt="; ".join(one.pt for one in told), en="; ".join(one.en for one in told))


def localized_number(plain: str) -> Text:
    """Return a number that is written with a point as each language writes it.

    Thousands are not grouped, so that a point is never mistaken.
    """
    return Text(pt=plain.replace(".", ","), en=plain)
