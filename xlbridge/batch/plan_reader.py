"""Reader of plan files, which fills in their parameters and reports every mistake with its line.

Placeholders are ``{month}``, ``{month.first}``, ….
"""

import calendar
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from xlbridge.batch.plan_steps import (
    STEP_KINDS,
    AnyStep,
    BatchPlan,
    CompareStep,
    ExportStep,
    PlanFile,
    ProcessStep,
    Reading,
    SendOptions,
    WorkbookStep,
    kind_of,
    step_keys,
)
from xlbridge.errors import PlanFileError, UsageError
from xlbridge.export import Filter, Filters, InvalidFilter, find_listing
from xlbridge.files import folded_name, matching_files
from xlbridge.i18n import Text
from xlbridge.profiles import choose_profile, read_profile_file
from xlbridge.resources import Catalogue
from xlbridge.resources.links import link_mistakes, placed_links, sheet_link
from xlbridge.resources.models import Block, as_lists, read_as
from xlbridge.resources.references import registry_named
from xlbridge.resources.yaml_files import (
    Mistake,
    YamlDocument,
    YamlPath,
    document_mistake,
    format_mistakes,
    mistakes_of,
    read_document,
    unknown_value,
)
from xlbridge.settings import CSV_DELIMITERS, CsvForm, ParseOptions, Settings
from xlbridge.upload.process_kinds import KINDS
from xlbridge.validation import AcceptedFindings

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping

__all__ = ["local_date", "read_plan", "with_month"]

DateIn = Callable[[str | None], date]
"""Returns today's date in the environment of a profile, None for the command's."""


def local_date(settings: Settings, profile: str | None) -> date:
    """Return today's date in the environment of a profile, by default the chosen one.

    Raises what ``choose_profile`` raises.
    """
    known = read_profile_file(settings).profiles
    # In a rehearsal, a name may be that of no profile.
    return (known.get(profile or "") or choose_profile(settings)).today


_MONTH_PARAMETER = "month"
"""The parameter that ``--month`` sets."""

_RELATIVE_MONTHS = ("current", "previous")
"""Month names that are allowed instead of ``2026-10``."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MONTH = re.compile(r"((?:19|20|21)\d\d)-(0[1-9]|1[0-2])")
_MONTH_LIKE = re.compile(r"\d{4}-\d\d?")
_NAME = re.compile(r"[^\W\d][\w-]*")
_VALUE = re.compile(r"[\w.-]+")
"""Characters that are allowed in file names on every system; dots alone are not a name."""

_MONTH_PARTS: Mapping[str, Callable[[date], str]] = {
    "first": lambda first: first.isoformat(),
    "last": lambda first: _last_day(first).isoformat(),
    "year": lambda first: f"{first:%Y}",
    "number": lambda first: f"{first:%m}",
    "previous": lambda first: f"{first - timedelta(days=1):%Y-%m}",
    "next": lambda first: f"{_last_day(first) + timedelta(days=1):%Y-%m}",
}
"""Parts of a parameter that is a month."""


def resolve_months(values: Mapping[str, str], today: Callable[[], date]) -> dict[str, str]:
    """Return the parameters with ``current`` and ``previous`` replaced by months."""
    if not set(_RELATIVE_MONTHS) & set(values.values()):
        return dict(values)
    current = today().replace(day=1)
    days = current, current - timedelta(days=1)
    months = dict(zip(_RELATIVE_MONTHS, (f"{day:%Y-%m}" for day in days), strict=True))
    return {name: months.get(value, value) for name, value in values.items()}


def with_month(values: Mapping[str, str], month: str) -> dict[str, str]:
    """Return the parameters with the month of ``--month``.

    Raises ``UsageError`` unless it is ``2026-10``, ``current`` or ``previous``.
    """
    if month not in _RELATIVE_MONTHS and not _MONTH.fullmatch(month):
        raise UsageError(
            Text(
                pt="--month {month}: escreva AAAA-MM, current ou previous.",
                en="--month {month}: write YYYY-MM, current or previous.",
                page=Text(
                    pt="“{month}” não é um mês. Escolha o mês e o ano.",
                    en="“{month}” is not a month. Choose the month and the year.",
                ),
            ).format(month=month)
        )
    return {**values, _MONTH_PARAMETER: month}


def fill_in(text: str, parameters: Mapping[str, str]) -> str:
    """Return a text with its parameters' values. Raises ``UsageError``."""
    known = dict(parameters)
    for name, text_of in parameters.items():
        if month := _MONTH.fullmatch(text_of):
            first = date(int(month[1]), int(month[2]), 1)
            known |= {f"{name}.{part}": part_of(first) for part, part_of in _MONTH_PARTS.items()}

    def value(match: re.Match[str]) -> str:
        if match[1] in known:
            return known[match[1]]
        raise UsageError(
            Text(
                pt="{found} não é um parâmetro; há: {known}.",
                en="{found} is not a parameter; there are: {known}.",
            ).format(found=match[0], known=_listed(f"{{{name}}}" for name in known))
        )

    return _PLACEHOLDER.sub(value, text)


def _listed(names: Iterable[str]) -> Text | str:
    return ", ".join(names) or Text(pt="nenhum", en="none")


def _last_day(first: date) -> date:
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])


def _parameter_mistakes(name: str, value: str) -> Iterator[Text]:
    """Yield what is wrong with the name and the value of a parameter."""
    if not _NAME.fullmatch(name):
        yield Text(
            pt="{name!r} não serve: só letras, algarismos, hífen e sublinhado.",
            en="{name!r} is not valid: only letters, digits, hyphen and underscore.",
        ).format(name=name)
    if _MONTH_LIKE.fullmatch(value) and not _MONTH.fullmatch(value):
        yield Text(pt="{value} não é um mês.", en="{value} is not a month.").format(value=value)
    if not _VALUE.fullmatch(value) or not value.strip("."):
        yield Text(
            pt="{value!r} não serve: só letras, algarismos, ponto, hífen e sublinhado.",
            en="{value!r} is not valid: only letters, digits, dot, hyphen and underscore.",
        ).format(value=value)


_STEPS_KEY = "steps"
_LISTS = ("after", "leave_out", "upload", "validate")
_REASONS = frozenset({"apart", "left_out"})
"""Keys of blocks whose texts are for readers, and have no placeholders."""


class _PlanReader:
    """Reader of a plan without mistakes in its format; ``overrides`` replace declared parameters.

    Raises ``UsageError`` if one is not declared.
    """

    def __init__(
        self,
        path: Path,
        document: YamlDocument,
        catalogue: Catalogue,
        overrides: Mapping[str, str],
        today: DateIn,
    ) -> None:
        self.mistakes: list[Mistake] = []
        self.file = read_as(PlanFile, document.content)
        self._path = path
        self._document = document
        self._catalogue = catalogue
        declared = {name: str(value) for name, value in self.file.parameters.items()}
        for name in overrides:
            if name not in declared:
                unknown = _NO_PARAMETER.format(plan=path, name=name, known=_listed(declared))
                raise UsageError(unknown, _HOW_TO_DECLARE)
        values = {**declared, **overrides}
        self.parameters = resolve_months(values, lambda: today(self.file.profile))
        for name, value in self.parameters.items():
            for message in _parameter_mistakes(name, value):
                self._add(("parameters", name), message)

    def _add(self, key_path: YamlPath, message: Text) -> None:
        self.mistakes.append(document_mistake(self._document, key_path, message))

    def _filled(self, key_path: YamlPath, value: Any) -> Any:
        """Return a value of the plan with the parameters filled into its texts."""
        if isinstance(value, str):
            try:
                return fill_in(value, self.parameters)
            except UsageError as error:
                self._add(key_path, error.message)
                return value
        if isinstance(value, list):
            return [self._filled((*key_path, number), one) for number, one in enumerate(value)]
        if isinstance(value, Mapping):
            return {
                key: one if key in _REASONS else self._filled((*key_path, key), one)
                for key, one in value.items()
            }
        return value

    def plan(self) -> BatchPlan:
        """Return the plan. Raises ``PlanFileError``."""
        steps = [self._step(name, body) for name, body in self.file.steps.items()]
        default = "-".join([self.file.name, *self.parameters.values(), "proof"])
        proof = self._filled(("proof",), self.file.proof or default)
        # Every form of the proof gets its own ending.
        proof = proof.removesuffix(".xlsx").removesuffix(".html")
        whole = tuple(step for step in steps if step is not None)
        plan = BatchPlan(self._path, self.file.name, self.parameters, whole, proof)
        if not self.mistakes:
            try:
                TopologicalSorter({step.name: step.after for step in plan.steps}).prepare()
            except CycleError as error:
                names = error.args[1]
                self._add((_STEPS_KEY, names[0]), _CYCLE.format(names=" → ".join(names)))
            exported = {plan.key(one.output) for one in plan.steps if isinstance(one, ExportStep)}
            books = [one for one in plan.steps if isinstance(one, WorkbookStep)]
            used = {plan.key(pattern) for one in books for pattern in one.patterns} - exported
            refreshed: set[str] = set()
            for key_path, path in plan.outputs():
                if plan.key(path) in used - refreshed:
                    self._add(key_path, _IN_USE.format(path=path.name))
                elif key_path[-1] == "into":
                    # Several listings may go into one workbook.
                    refreshed.add(plan.key(path))
                used.add(plan.key(path))
        if self.mistakes:
            raise _plan_error(self._path, self.mistakes)
        return plan

    def _step(self, name: str, written: Mapping[str, Any]) -> AnyStep | None:
        """Return a step, None if it is invalid."""
        key_path = (_STEPS_KEY, name)
        body = as_lists(self._filled(key_path, written), *_LISTS)
        profile = body.get("profile") or self._filled(("profile",), self.file.profile)
        body |= {"name": name, "after": self._after(key_path, name, written), "profile": profile}
        try:
            match kind_of(body):
                case "export":
                    return self._export(key_path, body)
                case "compare":
                    return self._comparison(key_path, body)
                case "process":
                    return self._processing(key_path, body)
                case _:
                    return self._workbooks(key_path, body)
        except InvalidFilter as mistake:
            found = mistake.names[0]
            self._add(
                (*key_path, "filters", found.value)
                if found in body.get("filters", {})
                else key_path,
                mistake.message_with(str),
            )
        except UsageError as error:
            self._add(key_path, error.message)
        return None

    def _after(self, key_path: YamlPath, name: str, body: Mapping[str, Any]) -> tuple[str, ...]:
        steps = self.file.steps
        by_files = _file_dependencies(steps, name)
        if "after" not in body:
            by_references = _reference_dependencies(self._catalogue, steps, name)
            return tuple(dict.fromkeys((*by_files, *by_references)))
        value = body["after"]
        is_text = isinstance(value, str)
        names = [value] if is_text else value
        for number, other in enumerate(names):
            if other not in steps or other == name:
                self._add(
                    (*key_path, "after") if is_text else (*key_path, "after", number),
                    unknown_value(other, (step for step in steps if step != name)),
                )
        return tuple(dict.fromkeys((*names, *by_files)))

    def _workbooks(self, key_path: YamlPath, body: Mapping[str, Any]) -> WorkbookStep:
        kind = "upload" if "upload" in body else "validate"
        reading = read_as(Reading, body)
        step = read_as(WorkbookStep, {**body, "patterns": body[kind]})
        sending = read_as(SendOptions, body) if kind == "upload" else None
        if step.resource is not None and step.resource not in self._catalogue:
            message = _UNKNOWN_RESOURCE.format(
                mistake=unknown_value(step.resource, self._catalogue)
            )
            self._add((*key_path, "resource"), message)
        else:
            for column, message in link_mistakes(step.links, self._catalogue, step.resource):
                self._add((*key_path, "links", column), message)
        for pattern in step.patterns:
            parts = Path(pattern).parts
            has_name = bool(parts) and parts[-1] not in {"..", Path(pattern).anchor}
            if not has_name or "\0" in pattern or any("**" in p and p != "**" for p in parts):
                self._add((*key_path, kind), _INVALID_PATTERN.format(pattern=pattern))
        for number, text in enumerate(reading.accept):
            if mistake := AcceptedFindings.mistake_in(text):
                self._add((*key_path, "accept", number), mistake.message)
        known = self._catalogue.get(step.resource or "")
        for name in sending.leave_out if sending and known else ():
            if known and name not in known.by_name:
                self._add((*key_path, "leave_out"), unknown_value(name, known.by_name))
        return replace(
            step,
            reading=ParseOptions(reading.dates, reading.numbers, reading.accept),
            csv=CsvForm(CSV_DELIMITERS.get(reading.delimiter or ""), reading.encoding),
            links=placed_links(step.links, self._path.parent),
            mapping=self._mapping(key_path, reading.map, step.resource),
            sending=sending,
        )

    def _mapping(
        self, key_path: YamlPath, name: str | None, resource: str | None
    ) -> "SheetMapping | None":
        """Return the mapping of a step; its path is relative to the plan's folder."""
        if name is None:
            return None
        # Slow to import, and most plans have no mapping.
        from xlbridge.validation.mapping import read_mapping, require_fitting

        try:
            folder = self._path.parent
            mapping = read_mapping(next(iter(matching_files(folder, name)), folder / name))
            require_fitting(mapping, self._catalogue, resource)
        except UsageError as error:
            self._add((*key_path, "map"), error.message)
            return None
        return mapping

    def _export(self, key_path: YamlPath, body: Mapping[str, Any]) -> ExportStep:
        from xlbridge.export import ExportRequest, OutputFile

        step = read_as(ExportStep, body)
        if (step.output_file is None) == (step.into is None):
            self._add(key_path, _ONE_TARGET)
            return step
        for key in _ONLY_INTO if step.into is None else _ONLY_OUTPUT:
            if body.get(key):
                other = "into" if step.into is None else "output"
                self._add((*key_path, key), _NEEDS_OTHER.format(key=other))
        step = replace(
            step,
            listing=find_listing(step.listing).name,
            filters=_parsed_filters(step.written_filters),
        )
        request = ExportRequest(
            listing=step.listing,
            filters=step.filters,
            flat=step.flat,
            as_template=step.as_template,
            settled=step.settled,
        )
        request.prepare(
            OutputFile(Path(step.output_file or "into.xlsx"), headers=step.headers),
            lambda: self._catalogue,
        )
        return step

    def _comparison(self, key_path: YamlPath, body: Mapping[str, Any]) -> CompareStep:
        compared = {name: as_lists(one, "and") for name, one in body["compare"].items()}
        step = read_as(CompareStep, {**body, "compare": compared})
        listings = {}
        for name, one in step.compared.items():
            if one.resource is not None and one.resource not in self._catalogue:
                message = unknown_value(one.resource, self._catalogue)
                self._add((*key_path, "compare", name, "resource"), message)
            filters = _parsed_filters(one.written_filters)
            for listing in (name, *one.joined):
                find_listing(listing).check(filters, ())
            listings[name] = replace(one, listing=name, filters=filters)
        for name in step.reasons:
            if any(name in (one.listing, *one.joined) for one in listings.values()):
                self._add((*key_path, "left_out", name), _COMPARED)
        return replace(step, compared=listings)

    def _processing(self, key_path: YamlPath, body: Mapping[str, Any]) -> ProcessStep:
        step = read_as(ProcessStep, body)
        if (step.records_of is None) == (step.file is None):
            self._add(key_path, _ONE_SOURCE)
        sending = [name for name, other in self.file.steps.items() if "upload" in other]
        if step.records_of is not None and KINDS[step.listing].within:
            self._add((*key_path, "records_of"), _NEEDS_FILE)
        elif step.records_of is not None and step.records_of not in sending:
            self._add((*key_path, "records_of"), unknown_value(step.records_of, sending))
        return step


def _parsed_filters(written: Mapping[str, Any]) -> Filters:
    values: dict[Filter, Any] = {}
    for key, value in written.items():
        name = Filter(key)
        texts = tuple(map(str, value if isinstance(value, list) else [value]))
        values[name] = value if name.type.is_flag else texts
        if not name.type.is_flag and not name.type.is_repeatable:
            (values[name],) = texts
    return Filters.parse(values)


def _reference_dependencies(
    catalogue: Catalogue, steps: Mapping[str, Mapping[str, Any]], name: str
) -> Iterator[str]:
    """Yield the steps that send records which the resource of a step refers to.

    A resource with the name of a registry fills that registry. ``steps`` are the plan's YAML.
    """
    resource = steps[name].get("resource")
    if resource is None or resource not in catalogue:
        return
    sheets = (catalogue[resource], *catalogue[resource].children)
    registries = {column.references for sheet in sheets for column in sheet.columns}
    registries -= {registry_named(resource)}
    for other, body in steps.items():
        fills = registry_named(body.get("resource", ""))
        if other != name and "upload" in body and fills is not None and fills in registries:
            yield other


def _file_dependencies(steps: Mapping[str, Mapping[str, Any]], name: str) -> list[str]:
    """Return the steps that a step depends on through files or records.

    They export its workbooks, send the workbooks that its links name, or send the records that it
    processes. ``steps`` are the plan's YAML.
    """
    body = steps[name]
    links = map(sheet_link, body.get("links", {}).values())
    linked = _paths([link.file.as_posix() for link in links if link is not None])
    inputs = _paths(body.get("upload", body.get("validate", body.get("file", ()))))
    return [
        other
        for other, content in steps.items()
        if other != name
        and (
            (
                "export" in content
                and _paths(content.get("output", content.get("into", ()))) <= inputs
            )
            or other == body.get("records_of")
            or any(
                fnmatch(file, pattern) or fnmatch(pattern, file)
                for file in _paths(content.get("upload", ()))
                for pattern in linked
            )
        )
    ]


def _paths(value: str | Sequence[str]) -> set[str]:
    """Return one path or several of the plan, for comparisons."""
    paths = [value] if isinstance(value, str) else value
    return {folded_name(posixpath.normpath(path)) for path in paths}


_NO_PARAMETER = Text(
    pt="{plan} não tem o parâmetro {name}; tem: {known}.",
    en="{plan} has no parameter {name}; it has: {known}.",
)
_HOW_TO_DECLARE = Text(
    pt="Declare-o com um valor em parameters.", en="Declare it with a value under parameters."
)
_CYCLE = Text(
    pt="estas etapas esperam umas pelas outras: {names}.",
    en="these steps wait for each other: {names}.",
)
_IN_USE = Text(
    pt="{path} já é lido ou gravado pelo plano; escolha outro nome.",
    en="the plan already reads or writes {path}; choose another name.",
)
_ONLY_INTO = ("sheet", "accept_losses")
_ONLY_OUTPUT = ("as_template", "settled", "headers", "codes_only")
_ONE_TARGET = Text(pt="escreva output ou into, só um dos dois.", en="write either output or into.")
_NEEDS_OTHER = Text(pt="só vale com {key}.", en="is for {key} only.")
_ONE_SOURCE = Text(
    pt="escreva records_of ou file, só um dos dois.", en="write either records_of or file."
)
_NEEDS_FILE = Text(
    pt="estes registros precisam de uma planilha: escreva file.",
    en="these records need a workbook: write file.",
)
_COMPARED = Text(
    pt="já é comparada: remova-a de compare ou daqui.",
    en="is compared already: remove it from compare or from here.",
)
_UNKNOWN_RESOURCE = Text(
    pt="{mistake} Recursos próprios de outra pasta: --schemas PASTA.",
    en="{mistake} Your own resources in another folder: --schemas FOLDER.",
    page=Text(
        pt="{mistake}",
        en="{mistake}",
    ),
)
_INVALID_PATTERN = Text(
    pt="{pattern!r} não é válido: termine com o nome dos arquivos, e deixe ** sozinho entre "
    "barras.",
    en="{pattern!r} is not valid: it must end in a file name, with ** only between slashes.",
)


def read_plan(
    path: Path, catalogue: Catalogue, parameters: Mapping[str, str], today: DateIn
) -> BatchPlan:
    """Read a plan with its parameters filled in; ``parameters`` override the plan's own.

    The months ``current`` and ``previous`` are relative to ``today`` in the plan's environment.
    Raises ``UsageError`` if there is no such file or the plan has no such parameter, and
    ``PlanFileError`` with the line and key of each mistake, and what is allowed there.
    """
    if not path.is_file():
        raise UsageError(
            Text(pt="Não existe o plano {path}.", en="There is no plan {path}.").format(path=path),
            Text(
                pt="Confira o nome e a pasta; se o plano mudou de pasta, indique onde está "
                "agora: xlbridge batch run PLANO",
                en="Check its name and folder; if the plan was moved, give its new path: "
                "xlbridge batch run PLAN",
                page=Text(
                    pt="Confira o nome e a pasta; se o plano mudou de pasta, abra em Lotes a "
                    "pasta onde ele está agora.",
                    en="Check its name and folder; if the plan was moved, open the folder where "
                    "it is now under Batches.",
                ),
            ),
        )
    document = read_document(path, dates=False)
    if isinstance(document, Mistake):
        raise _plan_error(path, [document])
    mistakes = mistakes_of(document, Block.of(PlanFile))
    steps = {} if mistakes else document.content[_STEPS_KEY]
    for name, body in steps.items():
        if kind_of(body) is None:
            key_path = (_STEPS_KEY, name)
            mistakes += (
                document_mistake(document, (*key_path, key), unknown_value(key, STEP_KINDS))
                for key in body.keys() - step_keys()
            )
            message = Text(pt="falta um destes: {kinds}.", en="one of these is missing: {kinds}.")
            kinds = message.format(kinds=", ".join(STEP_KINDS))
            mistakes.append(document_mistake(document, key_path, kinds))
    if mistakes:
        raise _plan_error(path, mistakes)
    return _PlanReader(path.resolve(), document, catalogue, parameters, today).plan()


def _plan_error(path: Path, mistakes: list[Mistake]) -> PlanFileError:
    hint = Text(
        pt="O que um plano pode conter: xlbridge batch plan --json-schema",
        en="Format of a plan: xlbridge batch plan --json-schema",
        page=Text(
            pt="Comece o mês de novo em Lotes, pela pasta das planilhas, que faz um plano novo; "
            "para corrigir este, peça a quem o escreveu.",
            en="Begin the month again under Batches, by the folder of the workbooks, which makes "
            "a new plan; to correct this one, ask the person who wrote it.",
        ),
    )
    return PlanFileError(format_mistakes(path, mistakes), hint)
