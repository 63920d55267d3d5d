"""Portuguese and English: every message is declared once, in both languages."""

from xlbridge.i18n.failures import reason_of, remedy_of
from xlbridge.i18n.language import (
    LANGUAGES,
    Language,
    active_language,
    choose,
    set_language,
    speaking,
)
from xlbridge.i18n.text import Text, numeral

__all__ = [
    "LANGUAGES",
    "Language",
    "Text",
    "active_language",
    "choose",
    "numeral",
    "reason_of",
    "remedy_of",
    "set_language",
    "speaking",
]
