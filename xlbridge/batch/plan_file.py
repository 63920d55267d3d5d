"""Reading a plan; every mistake in it is named with its line."""

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

from xlbridge.batch.order import circle
from xlbridge.batch.plan import AnyStep, Plan, WorkbookStep
from xlbridge.batch.plan_format import KINDS, plan_format
from xlbridge.batch.plan_steps import STEPS, StepReader
from xlbridge.batch.plan_texts import PlanTexts
from xlbridge.errors import PlanFileError, UsageError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import Catalogue
from xlbridge.yaml_files.document import read_document, told
from xlbridge.yaml_files.form import Mistake, dotted, mistakes_of, unknown
from xlbridge.yaml_files.places import YamlText


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
                pt="Confira o nome e a pasta; um plano que mudou de pasta se indica onde está "
                "agora: xlbridge batch run PLANO",
                en="Check its name and folder; of a plan that was moved say where it is now: "
                "xlbridge batch run PLAN",
            ),
        )
    document = read_document(path, dates=False)
    if isinstance(document, Mistake):
        raise _wrong(path, [document])
    for mistakes_in in (_broken_form, _without_kind):
        if mistakes := list(mistakes_in(document)):
            raise _wrong(path, mistakes)
    texts = PlanTexts(path.resolve(), document, given, today)
    return _plan(path.resolve(), texts, catalogue)


def _wrong(path: Path, mistakes: list[Mistake]) -> PlanFileError:
    hint = Text(
        pt="O que cabe num plano: xlbridge batch plan --json-schema",
        en="What a plan may hold: xlbridge batch plan --json-schema",
    )
    each_once = dict.fromkeys(sorted(mistakes, key=lambda m: (m.line, m.place, m.what.en)))
    return PlanFileError(told(path, list(each_once)), hint)


def _broken_form(document: YamlText) -> Iterator[Mistake]:
    yield from mistakes_of(document, plan_format())


def _without_kind(document: YamlText) -> Iterator[Mistake]:
    for name, body in document.content[STEPS].items():
        if not any(kind in body for kind in KINDS):
            place = (STEPS, name)
            for key in body:
                yield Mistake(
                    document.line((*place, key)), dotted((*place, key)), unknown(key, KINDS)
                )
            what = Text(pt="falta um de: {kinds}.", en="one of these is missing: {kinds}.")
            yield Mistake(document.line(place), dotted(place), what.format(kinds=", ".join(KINDS)))


def _plan(path: Path, texts: PlanTexts, catalogue: Catalogue) -> Plan:
    """Make a plan of a document that has the form of one. Raises ``PlanFileError``."""
    content, reader = texts.content, StepReader(texts, catalogue)
    read = [reader.step(name, body) for name, body in content[STEPS].items()]
    steps = tuple(step for step in read if step is not None)
    named = "-".join([content["name"], *texts.parameters.values(), "proof"])
    proof = texts.text(("proof",), content.get("proof", named))
    plan = Plan(path, str(content["name"]), texts.parameters, steps, proof)
    if not texts.mistakes:
        _check_order(texts, steps)
        _check_written(texts, plan)
    if texts.mistakes:
        raise _wrong(path, texts.mistakes)
    return plan


def _check_written(texts: PlanTexts, plan: Plan) -> None:
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
            texts.wrong(place, what.format(path=path.name))
        taken.add(path)


def _check_order(texts: PlanTexts, steps: tuple[AnyStep, ...]) -> None:
    names = circle(steps)
    if names:
        what = Text(
            pt="estes passos esperam uns pelos outros: {names}.",
            en="these steps wait for each other: {names}.",
        ).format(names=" → ".join(names))
        texts.wrong((STEPS, names[0]), what)
