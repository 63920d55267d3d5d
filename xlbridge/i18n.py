"""Messages in Portuguese and English, declared side by side."""

import locale
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

Language = Literal["pt-BR", "en"]
LANGUAGES: tuple[Language, ...] = ("pt-BR", "en")

_PORTUGUESE = ("pt", "portuguese")
"""Prefixes of its locales; the second is for Windows."""

_process_language: Language = "en"
_is_on_page = False
_context_language: ContextVar[Language | None] = ContextVar("xlbridge_language", default=None)


def active_language() -> Language:
    """Return the language that messages are rendered in."""
    return _context_language.get() or _process_language


def set_language(language: Language) -> None:
    """Render messages in ``language`` (``"pt-BR"`` or ``"en"``) in all threads of this process.

    Raises ``ValueError`` for any other language.
    """
    global _process_language
    _process_language = _known(language)


def _known(language: str) -> Language:
    known = parse_language(language)
    if known is None:
        raise ValueError(f"{language!r} is not one of the languages: {', '.join(LANGUAGES)}")
    return known


@contextmanager
def override_language(language: Language) -> Iterator[None]:
    """Render messages in ``language`` within the block, in this thread or asynchronous task only.

    Raises ``ValueError`` for an unknown language.
    """
    token = _context_language.set(_known(language))
    try:
        yield
    finally:
        _context_language.reset(token)


def language_from_environment(environment: Mapping[str, str]) -> Language:
    """Return the language set by ``XLBRIDGE_LANG``, else by the locale; English by default."""
    names = map(environment.get, ("XLBRIDGE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"))
    # Not ``getlocale``: it fails for a locale name that it does not know.
    name = next(filter(None, names), None) or locale.setlocale(locale.LC_CTYPE)
    return "pt-BR" if name.lower().startswith(_PORTUGUESE) else "en"


def parse_language(name: str) -> Language | None:
    """Return the language for a name such as ``pt``, ``pt_BR`` or ``en-us``; None if unknown."""
    plain = name.strip().lower().replace("_", "-").partition(".")[0]
    if re.fullmatch("pt(-[a-z]{2})?|portuguese|portugues|português", plain):
        return "pt-BR"
    return "en" if re.fullmatch("en(-[a-z]{2})?|english", plain) else None


@dataclass(frozen=True, slots=True)
class Text:
    """A message in Portuguese and English, with ``str.format`` placeholders.

    ``{n:row|rows}`` is the singular if ``n`` is one, else the plural; both may contain
    placeholders. A test compares the placeholders of the two languages.

    ``page`` says the same in the page's words, if the message names commands or options.
    """

    pt: str
    en: str
    page: "Text | None" = field(default=None, kw_only=True)

    def format(self, **values: object) -> "Text":
        """Return the message with its placeholders filled in, in both languages.

        A value that is itself a ``Text`` is filled in in the matching language.
        """
        texts = {name: value for name, value in values.items() if isinstance(value, Text)}
        page = None
        if self.page is not None or any(value.page for value in texts.values()):
            on_page = {name: value.page or value for name, value in texts.items()}
            page = (self.page or self).format(**{**values, **on_page})
        return Text(
            pt=_fill(self.pt, {**values, **{name: value.pt for name, value in texts.items()}}),
            en=_fill(self.en, {**values, **{name: value.en for name, value in texts.items()}}),
            page=page,
        )

    def changed(self, change: Callable[[str], str]) -> "Text":
        """Return the message with a change in both languages."""
        page = None if self.page is None else self.page.changed(change)
        return Text(change(self.pt), change(self.en), page=page)

    @property
    def languages(self) -> dict[str, Any]:
        """The message in both languages, as stored in the journal, with the page's words."""
        own = {"pt": self.pt, "en": self.en}
        return own if self.page is None else {**own, "page": self.page.languages}

    def to_json(self) -> str | dict[str, Any]:
        """Return the message as stored in files: both languages, or a string if they are equal."""
        return self.en if self.pt == self.en and self.page is None else self.languages

    @classmethod
    def of_json(cls, stored: str | Mapping[str, Any]) -> "Text":
        """Return a message stored in a file; earlier versions stored many in one language."""
        if isinstance(stored, str):
            return untranslated(stored)
        page = stored.get("page")
        return cls(stored["pt"], stored["en"], page=None if page is None else cls.of_json(page))

    def __str__(self) -> str:
        shown = self.page if _is_on_page and self.page is not None else self
        return shown.pt if active_language() == "pt-BR" else shown.en


_WORD_FORM = r"((?:[^{}|]|\{\w+\})*)"
_PLURAL_FORMS = re.compile(rf"\{{(\w+):{_WORD_FORM}\|{_WORD_FORM}\}}")


def _fill(template: str, values: Mapping[str, object]) -> str:
    def choose_form(match: re.Match[str]) -> str:
        number, singular, plural = match.groups()
        return singular if values[number] in (1, "1") else plural

    if "|" in template:  # The search takes longer than all the rest.
        template = _PLURAL_FORMS.sub(choose_form, template)
    return template.format(**values)


def untranslated(text: str) -> Text:
    """Return a text that is the same in both languages."""
    return Text(pt=text, en=text)


OR = Text(pt=" ou ", en=" or ")
"""Separator of alternatives."""


def joined(texts: Iterable[Text], separator: str | Text = "; ") -> Text:
    """Return several messages as one."""
    messages = list(texts)
    between = untranslated(separator) if isinstance(separator, str) else separator
    named = any(message.page for message in messages)
    return Text(
        pt=between.pt.join(m.pt for m in messages),
        en=between.en.join(m.en for m in messages),
        page=joined([m.page or m for m in messages], between) if named else None,
    )


@contextmanager
def shown_on_page() -> Iterator[None]:
    """Render the messages of this process in the page's words within the block, with counts whose
    thousands are grouped."""
    global _is_on_page
    _is_on_page = True
    try:
        yield
    finally:
        _is_on_page = False


_VALUE = re.compile(r"[“\"'‘].*?[”\"'’]|\b[\w./-]*\d[\w./-]*")


def without_values(text: str) -> str:
    """Return a message without its values; messages that differ only in these say the same."""
    return _VALUE.sub("…", text)


def count_text(number: int) -> Text:
    """Return a count for a message, with its thousands grouped on the page."""
    if not _is_on_page:
        return untranslated(str(number))
    grouped = f"{number:,}"
    return Text(pt=grouped.replace(",", "."), en=grouped)


def localized_number(number: str) -> Text:
    """Return a number with a decimal point as each language writes it.

    Thousands are not grouped, so that a point is unambiguous.
    """
    return Text(pt=number.replace(".", ","), en=number)
