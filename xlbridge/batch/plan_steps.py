"""The steps of a plan: what each does, checked against resources and listings."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from xlbridge.batch.links import link_mistakes
from xlbridge.batch.order import references_of
from xlbridge.batch.plan import AnyStep, ExportStep, Sending, WorkbookStep
from xlbridge.batch.plan_texts import PlanTexts
from xlbridge.batch.workbooks import is_pattern
from xlbridge.errors import UsageError
from xlbridge.export.filter_texts import FilterMistake, read_filters
from xlbridge.export.filters import FILTERS, Filter, Filters, ValueKind
from xlbridge.export.formats import format_of
from xlbridge.export.layout import Layout
from xlbridge.export.listings import find_listing
from xlbridge.export.requests import check_filters
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import Catalogue
from xlbridge.validation.reading import Reading
from xlbridge.yaml_files.form import unknown
from xlbridge.yaml_files.places import Place

STEPS = "steps"


class StepReader:
    """Reads the steps of a plan; what is wrong in one is noted in its texts."""

    def __init__(self, texts: PlanTexts, catalogue: Catalogue) -> None:
        self._texts = texts
        self._catalogue = catalogue

    def step(self, name: str, body: Mapping[str, Any]) -> AnyStep | None:
        """Return a step, None where it cannot be one."""
        place = (STEPS, name)
        common: dict[str, Any] = {"name": name, "after": self._after(place, name, body)}
        profile = body.get("profile", self._texts.content.get("profile"))
        common["profile"] = (
            None if profile is None else self._texts.text((*place, "profile"), profile)
        )
        make = self._export if "export" in body else self._workbooks
        try:
            return make(place, body, common)
        except FilterMistake as mistake:
            self._texts.wrong(self._place_of(place, body, mistake.names[0]), mistake.bare)
            return None
        except UsageError as error:
            self._texts.wrong(place, error.message)
            return None

    def _place_of(self, place: Place, body: Mapping[str, Any], name: Filter) -> Place:
        """Return where a filter is written, the step where it is not."""
        return (*place, "filters", name.value) if name in body.get("filters", {}) else place

    def _after(self, place: Place, name: str, body: Mapping[str, Any]) -> tuple[str, ...]:
        steps = self._texts.content[STEPS]
        if "after" not in body:
            return tuple(references_of(self._catalogue, steps, name))
        value = body["after"]
        named = [value] if isinstance(value, str) else value
        for number, other in enumerate(named):
            if other not in steps or other == name:
                at = (*place, "after") if isinstance(value, str) else (*place, "after", number)
                self._texts.wrong(at, unknown(other, tuple(step for step in steps if step != name)))
        return tuple(named)

    def _workbooks(
        self, place: Place, body: Mapping[str, Any], common: dict[str, Any]
    ) -> WorkbookStep:
        kind = "upload" if "upload" in body else "validate"
        resource = body.get("resource")
        if resource is not None and resource not in self._catalogue:
            told = _NO_RESOURCE.format(told=unknown(resource, tuple(self._catalogue)))
            self._texts.wrong((*place, "resource"), told)
        else:
            for column, what in link_mistakes(body.get("links", {}), self._catalogue, resource):
                self._texts.wrong((*place, "links", column), what)
        chunk_rows, sheet = body.get("chunk_rows"), body.get("sheet")
        sending = Sending(body.get("mode", "auto"), chunk_rows and int(chunk_rows))
        patterns = self._texts.texts((*place, kind), body[kind])
        for pattern in patterns:
            if not is_pattern(pattern):
                self._texts.wrong((*place, kind), _NO_PATTERN.format(pattern=pattern))
        return WorkbookStep(
            **common,
            patterns=patterns,
            resource=resource,
            sheet=None if sheet is None else self._texts.text((*place, "sheet"), sheet),
            reading=Reading(dates=body.get("dates"), numbers=body.get("numbers")),
            links=body.get("links", {}),
            sending=sending if kind == "upload" else None,
            may_be_empty=body.get("may_be_empty", False),
        )

    def _export(self, place: Place, body: Mapping[str, Any], common: dict[str, Any]) -> ExportStep:
        listing = find_listing(body["export"])
        filters = self._filters((*place, "filters"), body.get("filters", {}))
        check_filters(listing, filters)
        output = self._texts.text((*place, "output"), body["output"])
        format_of(Path(output), None)
        as_template = body.get("as_template")
        layout = Layout(
            flat=body.get("flat"),
            template=self._catalogue.named(as_template) if as_template else None,
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
            manifest=None if manifest is None else self._texts.text((*place, "manifest"), manifest),
        )

    def _filters(self, place: Place, body: Mapping[str, Any]) -> Filters:
        given = {}
        for name, value in body.items():
            filter_name, texts = Filter(name), self._texts.texts((*place, name), value)
            read = _FILTER_READERS.get(FILTERS[filter_name].kind, _as_it_is)
            given[filter_name] = read(texts, value)
        return read_filters(given)


_NO_RESOURCE = Text(
    pt="{told} Recursos próprios de outra pasta: --schemas PASTA.",
    en="{told} Own resources from another folder: --schemas DIR.",
)
_NO_PATTERN = Text(
    pt="{pattern!r} não serve: termine no nome dos arquivos, e ** fica sozinho entre barras.",
    en="{pattern!r} will not do: end in the workbooks' name, and ** stands alone between slashes.",
)
_Read = Callable[[tuple[str, ...], Any], Any]


def _as_it_is(texts: tuple[str, ...], _value: Any) -> Any:
    return texts[0]


_FILTER_READERS: Mapping[ValueKind, _Read] = {
    ValueKind.CODES: lambda texts, _value: texts,
    ValueKind.TEXTS: lambda texts, _value: texts,
    ValueKind.FLAG: lambda _texts, value: value,
}
"""How the values of filters come out of a plan, by what they are."""
