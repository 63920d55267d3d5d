"""Reader of plan files, which reports every mistake with its line."""

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.batch.plan.format import STEP_KEYS, STEP_KINDS, PlanDocument, plan_format
from xlbridge.batch.plan.steps import (
    AnyStep,
    BatchPlan,
    ComparedListing,
    CompareStep,
    ExportStep,
    ProcessStep,
    SendOptions,
    WorkbookStep,
)
from xlbridge.errors import PlanFileError, UsageError
from xlbridge.export import Filter, Filters, InvalidFilter, find_listing
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Catalogue
from xlbridge.resources.references import (
    link_mistakes,
    placed_links,
    registry_named,
    sheet_link,
)
from xlbridge.resources.yaml_files import (
    Mistake,
    YamlDocument,
    YamlPath,
    format_mistakes,
    format_yaml_path,
    mistakes_of,
    read_document,
    unknown_value,
)
from xlbridge.settings import CSV_DELIMITERS, CsvForm, ParseOptions

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping

_STEPS_KEY = "steps"


class StepReader:
    """Reader of a plan's steps; mistakes are recorded in the document."""

    def __init__(self, document: PlanDocument, catalogue: Catalogue) -> None:
        self._document = document
        self._catalogue = catalogue

    def step(self, name: str, body: Mapping[str, Any]) -> AnyStep | None:
        """Return a step, None if it is invalid."""
        key_path = (_STEPS_KEY, name)
        common: dict[str, Any] = {"name": name, "after": self._after(key_path, name, body)}
        profile = body.get("profile", self._document.content.get("profile"))
        common["profile"] = self._text(key_path, "profile", profile)
        readers: Mapping[str, Callable[[YamlPath, Mapping[str, Any], dict[str, Any]], AnyStep]] = {
            "export": self._export,
            "compare": self._comparison,
            "process": self._processing,
        }
        read = next((readers[kind] for kind in readers if kind in body), self._workbooks)
        try:
            return read(key_path, body, common)
        except InvalidFilter as mistake:
            name = mistake.names[0]
            self._document.add_mistake(
                (*key_path, "filters", name.value) if name in body.get("filters", {}) else key_path,
                mistake.message_with(str),
            )
            return None
        except UsageError as error:
            self._document.add_mistake(key_path, error.message)
            return None

    def _after(self, key_path: YamlPath, name: str, body: Mapping[str, Any]) -> tuple[str, ...]:
        steps = self._document.content[_STEPS_KEY]
        by_files = _file_dependencies(steps, name)
        if "after" not in body:
            by_references = _reference_dependencies(self._catalogue, steps, name)
            return tuple(dict.fromkeys((*by_files, *by_references)))
        value = body["after"]
        is_text = isinstance(value, str)
        names = [value] if is_text else value
        for number, other in enumerate(names):
            if other not in steps or other == name:
                self._document.add_mistake(
                    (*key_path, "after") if is_text else (*key_path, "after", number),
                    unknown_value(other, tuple(step for step in steps if step != name)),
                )
        return tuple(dict.fromkeys((*names, *by_files)))

    def _workbooks(
        self, key_path: YamlPath, body: Mapping[str, Any], common: dict[str, Any]
    ) -> WorkbookStep:
        kind = "upload" if "upload" in body else "validate"
        resource = body.get("resource")
        if resource is not None and resource not in self._catalogue:
            message = _UNKNOWN_RESOURCE.format(
                mistake=unknown_value(resource, tuple(self._catalogue))
            )
            self._document.add_mistake((*key_path, "resource"), message)
        else:
            for column, message in link_mistakes(body.get("links", {}), self._catalogue, resource):
                self._document.add_mistake((*key_path, "links", column), message)
        patterns = self._document.texts((*key_path, kind), body[kind])
        for pattern in patterns:
            if not _is_valid_pattern(pattern):
                self._document.add_mistake(
                    (*key_path, kind), _INVALID_PATTERN.format(pattern=pattern)
                )
        links = {
            column: self._document.text((*key_path, "links", column), target)
            for column, target in body.get("links", {}).items()
        }
        return WorkbookStep(
            **common,
            patterns=patterns,
            resource=resource,
            sheet=self._text(key_path, "sheet", body.get("sheet")),
            reading=ParseOptions(dates=body.get("dates"), numbers=body.get("numbers")),
            csv=CsvForm(CSV_DELIMITERS.get(body.get("delimiter", "")), body.get("encoding")),
            links=placed_links(links, self._document.folder),
            mapping=self._mapping(key_path, body.get("map"), resource),
            sending=self._sending(key_path, body, resource) if kind == "upload" else None,
            may_be_empty=body.get("may_be_empty", False),
        )

    def _sending(
        self, key_path: YamlPath, body: Mapping[str, Any], resource: str | None
    ) -> SendOptions:
        chunk_rows = body.get("chunk_rows")
        leave_out = self._document.texts((*key_path, "leave_out"), body.get("leave_out", []))
        known = self._catalogue.get(resource or "")
        columns = {} if known is None else known.by_name
        for name in leave_out:
            if columns and name not in columns:
                self._document.add_mistake(
                    (*key_path, "leave_out"), unknown_value(name, tuple(columns))
                )
        return SendOptions(
            body.get("mode", "auto"),
            chunk_rows and int(chunk_rows),
            rest=body.get("rest", 0),
            update=body.get("update", False),
            foreign_numbers=body.get("foreign_numbers", False),
            leave_out=leave_out,
        )

    def _mapping(
        self, key_path: YamlPath, name: str | None, resource: str | None
    ) -> "SheetMapping | None":
        """Return the mapping of a step; its path is relative to the plan's folder."""
        if name is None:
            return None
        # Slow to import, and most plans have no mapping.
        from xlbridge.validation.mapping import read_mapping, require_fitting

        text = self._document.text((*key_path, "map"), name)
        try:
            mapping = read_mapping(self._document.folder / text)
            require_fitting(mapping, self._catalogue, resource)
        except UsageError as error:
            self._document.add_mistake((*key_path, "map"), error.message)
            return None
        return mapping

    def _export(
        self, key_path: YamlPath, body: Mapping[str, Any], common: dict[str, Any]
    ) -> ExportStep:
        from xlbridge.export import ExportRequest, OutputFile

        listing = find_listing(body["export"])
        filters = self._filters((*key_path, "filters"), body.get("filters", {}))
        output = self._document.text((*key_path, "output"), body["output"])
        flat, as_template = body.get("flat"), body.get("as_template")
        settled = body.get("settled", False)
        request = ExportRequest(
            listing=listing.name,
            filters=filters,
            flat=flat,
            as_template=as_template,
            settled=settled,
        )
        request.prepare(OutputFile(Path(output)), lambda: self._catalogue)
        return ExportStep(
            **common,
            listing=listing.name,
            output=output,
            filters=filters,
            flat=flat,
            as_template=as_template,
            settled=settled,
            manifest=self._text(key_path, "manifest", body.get("manifest")),
        )

    def _comparison(
        self, key_path: YamlPath, body: Mapping[str, Any], common: dict[str, Any]
    ) -> CompareStep:
        listings = []
        for name, content in body["compare"].items():
            listing_path = (*key_path, "compare", name)
            resource = content.get("resource")
            if resource is not None and resource not in self._catalogue:
                message = unknown_value(resource, tuple(self._catalogue))
                self._document.add_mistake((*listing_path, "resource"), message)
            joined = self._document.texts((*listing_path, "and"), content.get("and", []))
            filters = self._filters((*listing_path, "filters"), content.get("filters", {}))
            for listing in (name, *joined):
                find_listing(listing).check(filters, ())
            reasons = content.get("apart", {})
            listings.append(
                ComparedListing(
                    listing=name,
                    resource=resource,
                    joined=joined,
                    filters=filters,
                    excluded={column: untranslated(why) for column, why in reasons.items()},
                )
            )
        left_out = body.get("left_out", {})
        for name in left_out:
            if any(name in (item.listing, *item.joined) for item in listings):
                self._document.add_mistake((*key_path, "left_out", name), _COMPARED)
        return CompareStep(
            **common,
            listings=tuple(listings),
            left_out={name: untranslated(why) for name, why in left_out.items()},
            other=self._document.text((*key_path, "with"), body["with"]),
            output=self._document.text((*key_path, "output"), body["output"]),
        )

    def _processing(
        self, key_path: YamlPath, body: Mapping[str, Any], common: dict[str, Any]
    ) -> ProcessStep:
        steps = self._document.content[_STEPS_KEY]
        records_of, file = body.get("records_of"), body.get("file")
        if (records_of is None) == (file is None):
            self._document.add_mistake(key_path, _ONE_SOURCE)
        sending = tuple(name for name, other in steps.items() if "upload" in other)
        if records_of is not None and records_of not in sending:
            message = unknown_value(records_of, sending)
            self._document.add_mistake((*key_path, "records_of"), message)
        return ProcessStep(
            **common,
            listing=body["process"],
            records_of=records_of,
            file=self._text(key_path, "file", file),
        )

    def _text(self, key_path: YamlPath, key: str, value: object) -> str | None:
        return None if value is None else self._document.text((*key_path, key), value)

    def _filters(self, key_path: YamlPath, body: Mapping[str, Any]) -> Filters:
        values: dict[Filter, Any] = {}
        for key, value in body.items():
            name, texts = Filter(key), self._document.texts((*key_path, key), value)
            single = value if name.type.is_flag else texts[0]
            values[name] = texts if name.type.is_repeatable else single
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
    linked = {link.file.as_posix() for link in links if link is not None}
    inputs = _paths(body.get("upload", body.get("validate", body.get("file", ()))))
    return [
        other
        for other, content in steps.items()
        if other != name
        and (
            ("export" in content and _paths(content["output"]) <= inputs)
            or other == body.get("records_of")
            or any(
                fnmatch(file, pattern)
                for file in _paths(content.get("upload", ()))
                for pattern in linked
            )
        )
    ]


def _paths(value: str | Sequence[str]) -> set[str]:
    """Return one path or several of the plan, normalized."""
    return set(map(posixpath.normpath, [value] if isinstance(value, str) else value))


def _is_valid_pattern(text: str) -> bool:
    """Return whether a text is a valid pattern of workbooks on every version of Python."""
    parts = Path(text).parts
    has_name = bool(parts) and parts[-1] not in {"..", Path(text).anchor}
    return has_name and "\0" not in text and all("**" not in part or part == "**" for part in parts)


_ONE_SOURCE = Text(
    pt="escreva records_of ou file, só um dos dois.", en="write either records_of or file."
)
_COMPARED = Text(
    pt="já é comparada: remova-a de compare ou daqui.",
    en="is compared already: remove it from compare or from here.",
)
_UNKNOWN_RESOURCE = Text(
    pt="{mistake} Recursos próprios de outra pasta: --schemas PASTA.",
    en="{mistake} Your own resources in another folder: --schemas DIR.",
)
_INVALID_PATTERN = Text(
    pt="{pattern!r} não é válido: termine com o nome dos arquivos, e deixe ** sozinho entre "
    "barras.",
    en="{pattern!r} is not valid: it must end in a file name, with ** only between slashes.",
)


def read_plan(
    path: Path, catalogue: Catalogue, parameters: Mapping[str, str], today: date
) -> BatchPlan:
    """Read a plan with its parameters filled in; ``parameters`` override the plan's own.

    The months ``current`` and ``previous`` are relative to ``today``. Raises ``UsageError`` if
    there is no such file or the plan has no such parameter, and ``PlanFileError`` with the line and
    key of each mistake, and what is allowed there.
    """
    if not path.is_file():
        raise UsageError(
            Text(pt="Não existe o plano {path}.", en="There is no plan {path}.").format(path=path),
            Text(
                pt="Confira o nome e a pasta; se o plano mudou de pasta, indique onde está "
                "agora: xlbridge batch run PLANO",
                en="Check its name and folder; if the plan was moved, give its new path: "
                "xlbridge batch run PLAN",
            ),
        )
    document = read_document(path, dates=False)
    if isinstance(document, Mistake):
        raise _plan_error(path, [document])
    mistakes = [*mistakes_of(document, plan_format())] or [*_kind_mistakes(document)]
    if mistakes:
        raise _plan_error(path, mistakes)
    plan_document = PlanDocument(path.resolve(), document, parameters, today)
    return _build_plan(path.resolve(), plan_document, catalogue)


def _plan_error(path: Path, mistakes: list[Mistake]) -> PlanFileError:
    hint = Text(
        pt="O que um plano pode conter: xlbridge batch plan --json-schema",
        en="Format of a plan: xlbridge batch plan --json-schema",
    )
    unique = dict.fromkeys(sorted(mistakes, key=lambda m: (m.line, m.place, m.message.en)))
    return PlanFileError(format_mistakes(path, list(unique)), hint)


def _kind_mistakes(document: YamlDocument) -> Iterator[Mistake]:
    for name, body in document.content[_STEPS_KEY].items():
        if not any(kind in body for kind in STEP_KINDS):
            key_path = (_STEPS_KEY, name)
            for key in body.keys() - STEP_KEYS:
                yield Mistake(
                    document.line((*key_path, key)),
                    format_yaml_path((*key_path, key)),
                    unknown_value(key, STEP_KINDS),
                )
            message = Text(pt="falta um destes: {kinds}.", en="one of these is missing: {kinds}.")
            yield Mistake(
                document.line(key_path),
                format_yaml_path(key_path),
                message.format(kinds=", ".join(STEP_KINDS)),
            )


def _build_plan(path: Path, document: PlanDocument, catalogue: Catalogue) -> BatchPlan:
    """Build a plan from a document that matches the schema. Raises ``PlanFileError``."""
    content, reader = document.content, StepReader(document, catalogue)
    results = [reader.step(name, body) for name, body in content[_STEPS_KEY].items()]
    steps = tuple(step for step in results if step is not None)
    default = "-".join([content["name"], *document.parameters.values(), "proof"])
    proof = document.text(("proof",), content.get("proof", default))
    plan = BatchPlan(path, str(content["name"]), document.parameters, steps, proof)
    if not document.mistakes:
        _check_order(document, steps)
        _check_outputs(document, plan)
    if document.mistakes:
        raise _plan_error(path, document.mistakes)
    return plan


def _check_outputs(document: PlanDocument, plan: BatchPlan) -> None:
    exported = {plan.file(step.output) for step in plan.steps if isinstance(step, ExportStep)}
    used = {
        plan.file(pattern)
        for step in plan.steps
        if isinstance(step, WorkbookStep)
        for pattern in step.patterns
    } - exported
    for key_path, path in plan.outputs():
        if path in used:
            message = Text(
                pt="{path} já é lido ou gravado pelo plano; escolha outro nome.",
                en="the plan already reads or writes {path}; choose another name.",
            )
            document.add_mistake(key_path, message.format(path=path.name))
        used.add(path)


def _check_order(document: PlanDocument, steps: tuple[AnyStep, ...]) -> None:
    try:
        TopologicalSorter({step.name: step.after for step in steps}).prepare()
    except CycleError as error:
        names = error.args[1]
        message = Text(
            pt="estas etapas esperam umas pelas outras: {names}.",
            en="these steps wait for each other: {names}.",
        ).format(names=" → ".join(names))
        document.add_mistake((_STEPS_KEY, names[0]), message)
