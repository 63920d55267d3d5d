"""The texts of a plan, filled in with its parameters; what is wrong is gathered with its line."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from xlbridge.batch.parameters import (
    UnknownParameter,
    fill_in,
    is_name,
    is_no_month,
    is_usable,
    settle,
)
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.yaml_files.form import Mistake, dotted
from xlbridge.yaml_files.places import Place, YamlText


class PlanTexts:
    """A document that has the form of a plan, with its parameters.

    Raises ``UsageError`` where a parameter is ``given`` that the plan does not have.
    """

    def __init__(
        self, path: Path, document: YamlText, given: Mapping[str, str], today: date
    ) -> None:
        self.content: Mapping[str, Any] = document.content
        self.mistakes: list[Mistake] = []
        self._path = path
        self._document = document
        self.parameters: Mapping[str, str] = self._settled(given, today)

    def wrong(self, place: Place, what: Text) -> None:
        """Note what is wrong at a place."""
        self.mistakes.append(Mistake(self._document.line(place), dotted(place), what))

    def text(self, place: Place, text: object) -> str:
        """Return a text of the plan with its parameters' values."""
        try:
            return fill_in(str(text), self.parameters)
        except UnknownParameter as error:
            self.wrong(place, error.told)
            return str(text)

    def texts(self, place: Place, value: Any) -> tuple[str, ...]:
        """Return one text, or several of a list."""
        if not isinstance(value, list):
            return (self.text(place, value),)
        return tuple(self.text((*place, number), text) for number, text in enumerate(value))

    def _settled(self, given: Mapping[str, str], today: date) -> dict[str, str]:
        declared = {
            name: str(value) for name, value in self._document.content.get("parameters", {}).items()
        }
        for name in given:
            if name not in declared:
                raise UsageError(
                    Text(
                        pt="{plan} não tem o parâmetro {name}; tem: {known}.",
                        en="{plan} has no parameter {name}; it has: {known}.",
                    ).format(plan=self._path, name=name, known=", ".join(declared) or "–"),
                    Text(
                        pt="Declare-o com um valor em parameters.",
                        en="Declare it with a value under parameters.",
                    ),
                )
        settled = settle({**declared, **given}, today)
        for name, value in settled.items():
            if not is_name(name):
                what = Text(
                    pt="{name!r} não serve: só letras, algarismos, hífen e sublinhado.",
                    en="{name!r} will not do: only letters, digits, hyphen and underscore.",
                )
                self.wrong(("parameters", name), what.format(name=name))
            if is_no_month(value):
                what = Text(pt="{value} não é um mês.", en="{value} is no month.")
                self.wrong(("parameters", name), what.format(value=value))
            if not is_usable(value):
                what = Text(
                    pt="{value!r} não serve: só letras, algarismos, ponto, hífen e sublinhado.",
                    en="{value!r} will not do: only letters, digits, dot, hyphen and underscore.",
                ).format(value=value)
                self.wrong(("parameters", name), what)
        return settled
