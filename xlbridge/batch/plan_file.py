"""Reading a plan; every mistake in it is named with its line."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from xlbridge.batch.links import link_mistakes
from xlbridge.batch.order import circle, references_of
from xlbridge.batch.parameters import (
    UnknownParameter,
    fill_in,
    is_name,
    is_no_month,
    is_usable,
    settle,
)
from xlbridge.batch.plan import AnyStep, ExportStep, Plan, Sending, WorkbookStep
from xlbridge.batch.plan_format import KINDS, plan_format
from xlbridge.batch.workbooks import is_pattern
from xlbridge.errors import PlanFileError, UsageError
from xlbridge.export.export import Layout
from xlbridge.export.filters import FILTERS, Filter, Filters, ValueKind, read_filters
from xlbridge.export.formats import format_of
from xlbridge.export.listings import find_listing
from xlbridge.export.requests import check_filters
from xlbridge.export.template_layout import template_layout
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import Catalogue
from xlbridge.validation.reading import Reading
from xlbridge.yaml_files.document import read_document, told
from xlbridge.yaml_files.form import Mistake, dotted, mistakes_of, unknown
from xlbridge.yaml_files.places import Place, YamlText

_STEPS = "steps"


def read_plan(path: Path, catalogue: Catalogue, given: Mapping[str, str], today: date) -> Plan:
    """Read a plan, its texts filled in with its parameters and those ``given`` in their place.

    ``today`` is what the months ``current`` and ``previous`` are told from. Raises ``UsageError``
    when there is no such file or the plan has no such parameter, ``PlanFileError`` naming file,
    line and place of each mistake, and what is allowed there.
    """
    if not path.is_file():
        raise UsageError(
            Text(pt="Não existe o plano {path}.", en="There is no plan {path}.").format(path=path),
            Text(
                pt="Se foi para outra pasta: xlbridge batch run com o plano dali.",
                en="If it was moved: xlbridge batch run with the plan as it lies there.",
            ),
        )
    document = read_document(path, dates=False)
    if isinstance(document, Mistake):
        raise _wrong(path, [document])
    for mistakes_in in (_odd_keys, _broken_form, _without_kind):
        if mistakes := list(mistakes_in(document)):
            raise _wrong(path, mistakes)
    return _Reader(path.resolve(), document, catalogue, given, today).plan()


def _wrong(path: Path, mistakes: list[Mistake]) -> PlanFileError:
    hint = Text(
        pt="O que cabe num plano: xlbridge batch plan --json-schema",
        en="What a plan may hold: xlbridge batch plan --json-schema",
    )
    each_once = dict.fromkeys(sorted(mistakes, key=lambda m: (m.line, m.place, m.what.en)))
    return PlanFileError(told(path, list(each_once)), hint)


def _odd_keys(document: YamlText) -> Iterator[Mistake]:
    """Yield the keys that YAML takes for something else than text, such as ``on`` and ``2026``."""
    waiting: list[tuple[Place, Any]] = [((), document.content)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, dict):
            for key, value in part.items():
                if isinstance(key, str):
                    waiting.append(((*place, key), value))
                else:
                    yield Mistake(document.line(place), dotted(place), _NO_TEXT.format(key=key))


def _broken_form(document: YamlText) -> Iterator[Mistake]:
    yield from mistakes_of(document, plan_format())


def _without_kind(document: YamlText) -> Iterator[Mistake]:
    for name, body in document.content[_STEPS].items():
        if not any(kind in body for kind in KINDS):
            place = (_STEPS, name)
            for key in body:
                yield Mistake(
                    document.line((*place, key)), dotted((*place, key)), unknown(key, KINDS)
                )
            what = Text(pt="falta um de: {kinds}.", en="one of these is missing: {kinds}.")
            yield Mistake(document.line(place), dotted(place), what.format(kinds=", ".join(KINDS)))


_NO_TEXT = Text(
    pt="a chave {key!r} não é um texto; escreva-a entre aspas.",
    en="the key {key!r} is no text; write it in quotes.",
)


class _Reader:
    """Turns a document that has the form of a plan into one, gathering what contradicts itself."""

    def __init__(
        self,
        path: Path,
        document: YamlText,
        catalogue: Catalogue,
        given: Mapping[str, str],
        today: date,
    ) -> None:
        self._path = path
        self._document = document
        self._catalogue = catalogue
        self._mistakes: list[Mistake] = []
        self._parameters = self._settled(given, today)

    def plan(self) -> Plan:
        content = self._document.content
        steps = tuple(
            step
            for name, body in content[_STEPS].items()
            if (step := self._step(name, body)) is not None
        )
        named = "-".join([content["name"], *self._parameters.values(), "proof"])
        proof = self._text(("proof",), content.get("proof", named))
        plan = Plan(self._path, str(content["name"]), self._parameters, steps, proof)
        if not self._mistakes:
            self._check_order(steps)
            self._check_written(plan)
        if self._mistakes:
            raise _wrong(self._path, self._mistakes)
        return plan

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
                self._wrong(("parameters", name), what.format(name=name))
            if is_no_month(value):
                what = Text(pt="{value} não é um mês.", en="{value} is no month.")
                self._wrong(("parameters", name), what.format(value=value))
            if not is_usable(value):
                what = Text(
                    pt="{value!r} não serve: só letras, algarismos, ponto, hífen e sublinhado.",
                    en="{value!r} will not do: only letters, digits, dot, hyphen and underscore.",
                ).format(value=value)
                self._wrong(("parameters", name), what)
        return settled

    def _wrong(self, place: Place, what: Text) -> None:
        self._mistakes.append(Mistake(self._document.line(place), dotted(place), what))

    def _text(self, place: Place, text: object) -> str:
        try:
            return fill_in(str(text), self._parameters)
        except UnknownParameter as error:
            self._wrong(place, error.told)
            return str(text)

    def _texts(self, place: Place, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            return (self._text(place, value),)
        return tuple(self._text((*place, number), text) for number, text in enumerate(value))

    def _step(self, name: str, body: Mapping[str, Any]) -> AnyStep | None:
        place = (_STEPS, name)
        common: dict[str, Any] = {"name": name, "after": self._after(place, name, body)}
        profile = body.get("profile", self._document.content.get("profile"))
        common["profile"] = None if profile is None else self._text((*place, "profile"), profile)
        make = self._export if "export" in body else self._workbooks
        try:
            return make(place, body, common)
        except UsageError as error:
            self._wrong(place, error.message)
            return None

    def _after(self, place: Place, name: str, body: Mapping[str, Any]) -> tuple[str, ...]:
        steps = self._document.content[_STEPS]
        if "after" not in body:
            return tuple(references_of(self._catalogue, steps, name))
        value = body["after"]
        named = [value] if isinstance(value, str) else value
        for number, other in enumerate(named):
            if other not in steps or other == name:
                at = (*place, "after") if isinstance(value, str) else (*place, "after", number)
                self._wrong(at, unknown(other, tuple(step for step in steps if step != name)))
        return tuple(named)

    def _workbooks(
        self, place: Place, body: Mapping[str, Any], common: dict[str, Any]
    ) -> WorkbookStep:
        kind = "upload" if "upload" in body else "validate"
        resource = body.get("resource")
        if resource is not None and resource not in self._catalogue:
            self._wrong((*place, "resource"), unknown(resource, tuple(self._catalogue)))
        else:
            for column, what in link_mistakes(body.get("links", {}), self._catalogue, resource):
                self._wrong((*place, "links", column), what)
        chunk_rows, sheet = body.get("chunk_rows"), body.get("sheet")
        sending = Sending(body.get("mode", "auto"), chunk_rows and int(chunk_rows))
        patterns = self._texts((*place, kind), body[kind])
        for pattern in patterns:
            if not is_pattern(pattern):
                self._wrong((*place, kind), _NO_PATTERN.format(pattern=pattern))
        return WorkbookStep(
            **common,
            patterns=patterns,
            resource=resource,
            sheet=None if sheet is None else self._text((*place, "sheet"), sheet),
            reading=Reading(dates=body.get("dates"), numbers=body.get("numbers")),
            links=body.get("links", {}),
            sending=sending if kind == "upload" else None,
            may_be_empty=body.get("may_be_empty", False),
        )

    def _export(self, place: Place, body: Mapping[str, Any], common: dict[str, Any]) -> ExportStep:
        listing = find_listing(body["export"])
        filters = self._filters((*place, "filters"), body.get("filters", {}))
        check_filters(listing, filters)
        output = self._text((*place, "output"), body["output"])
        format_of(Path(output), None)
        as_template = body.get("as_template")
        layout = Layout(
            flat=body.get("flat"),
            as_sheet=template_layout(listing, self._catalogue.named(as_template))
            if as_template
            else None,
        )
        layout.check(listing)
        manifest = body.get("manifest")
        return ExportStep(
            **common,
            listing=listing.name,
            output=output,
            filters=filters,
            flat=body.get("flat"),
            as_template=as_template,
            manifest=None if manifest is None else self._text((*place, "manifest"), manifest),
        )

    def _filters(self, place: Place, body: Mapping[str, Any]) -> Filters:
        given = {}
        for name, value in body.items():
            filter_name, texts = Filter(name), self._texts((*place, name), value)
            read = _FILTER_READERS.get(FILTERS[filter_name].kind, _as_it_is)
            try:
                given[filter_name] = read(texts, value)
            except ValueError:
                what = Text(pt="{found!r} não é um código.", en="{found!r} is not a code.")
                self._wrong((*place, name), what.format(found=texts[0]))
        return read_filters(given)

    def _check_written(self, plan: Plan) -> None:
        taken = {
            plan.file(pattern)
            for step in plan.steps
            if isinstance(step, WorkbookStep)
            for pattern in step.patterns
        }
        for place, path in plan.written():
            if path in taken:
                what = Text(
                    pt="{path} já é lido ou gravado pelo plano; escolha outro nome.",
                    en="{path} is read or written by the plan already; choose another name.",
                )
                self._wrong(place, what.format(path=path.name))
            taken.add(path)

    def _check_order(self, steps: tuple[AnyStep, ...]) -> None:
        names = circle(steps)
        if names:
            what = Text(
                pt="estes passos esperam uns pelos outros: {names}.",
                en="these steps wait for each other: {names}.",
            ).format(names=" → ".join(names))
            self._wrong((_STEPS, names[0]), what)


_NO_PATTERN = Text(
    pt="{pattern!r} não serve: termine no nome das pastas, e ** fica sozinho entre barras.",
    en="{pattern!r} will not do: end in the workbooks' name, and ** stands alone between slashes.",
)
_Read = Callable[[tuple[str, ...], Any], Any]


def _as_it_is(texts: tuple[str, ...], _value: Any) -> Any:
    return texts[0]


_FILTER_READERS: Mapping[ValueKind, _Read] = {
    ValueKind.CODE: lambda texts, _value: int(texts[0]),
    ValueKind.CODES: lambda texts, _value: texts,
    ValueKind.TEXTS: lambda texts, _value: texts,
    ValueKind.FLAG: lambda _texts, value: value,
}
"""How the values of filters come out of a plan, by what they are."""
