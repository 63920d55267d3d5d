"""A message in both languages."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from xlbridge.i18n.language import active_language


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
            pt=_filled(self.pt, {k: v.pt if isinstance(v, Text) else v for k, v in values.items()}),
            en=_filled(self.en, {k: v.en if isinstance(v, Text) else v for k, v in values.items()}),
        )

    def __str__(self) -> str:
        return self.pt if active_language() == "pt-BR" else self.en


_OR = "|"
_WORDS = r"((?:[^{}|]|\{\w+\})*)"
_AGREEING = re.compile(rf"\{{(\w+):{_WORDS}\|{_WORDS}\}}")


def _filled(template: str, values: Mapping[str, object]) -> str:
    def agreeing(place: re.Match[str]) -> str:
        number, one, several = place.groups()
        return one if values[number] == 1 else several

    if _OR in template:  # Looking for the words takes longer than all the rest.
        template = _AGREEING.sub(agreeing, template)
    return template.format(**values)


def numeral(plain: str) -> Text:
    """Return a number that is written with a point as each language writes it.

    Thousands are not grouped, so that a point is never mistaken.
    """
    return Text(pt=plain.replace(".", ","), en=plain)
