"""A message in both languages."""

from dataclasses import dataclass

from xlbridge.i18n.language import active_language


@dataclass(frozen=True, slots=True)
class Text:
    """A message in Portuguese and English, with ``str.format`` placeholders.

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
            pt=self.pt.format(**{k: v.pt if isinstance(v, Text) else v for k, v in values.items()}),
            en=self.en.format(**{k: v.en if isinstance(v, Text) else v for k, v in values.items()}),
        )

    def __str__(self) -> str:
        return self.pt if active_language() == "pt-BR" else self.en


def numeral(plain: str) -> Text:
    """Return a number that is written with a point as each language writes it.

    Thousands are not grouped, so that a point is never mistaken.
    """
    return Text(pt=plain.replace(".", ","), en=plain)
