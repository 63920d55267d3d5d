"""Comparison steps of a batch: run once, again after more was sent; their status and report."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from xlbridge.batch.batch import Batch, UnitOverview, UnitStatus
from xlbridge.batch.comparison import EnvironmentComparison, ListingComparison
from xlbridge.batch.ledger import ExportRecord
from xlbridge.batch.plan import CompareStep, file_digest, relative_name
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.workbook import EXPORT_PROPERTY, EXPORTED, require_own
from xlbridge.workbook.write import new_workbook, write_plain_text

_MOST_NAMED = 5


def comparison_overview(
    batch: Batch, step: CompareStep, before: Sequence[UnitOverview]
) -> UnitOverview:
    """Return the status of a comparison; ``before`` are the units of the steps before it."""
    fingerprint = _fingerprint(step, before)
    done = batch.ledger.export_of(batch.id, step.name, batch.environments.name(step.profile))
    if done is None:
        return UnitOverview(step.output, UnitStatus.NEW, sha256=fingerprint)
    there = all((batch.plan.folder / file).exists() for file in done.files)
    if done.fingerprint != fingerprint or not there:
        return UnitOverview(step.output, UnitStatus.CHANGED, sha256=fingerprint)
    different = [one for one in done.manifest["listings"] if not one["is_equal"]]
    if not different:
        return UnitOverview(step.output, UnitStatus.DONE, sha256=fingerprint)
    names = [_summary(one) for one in different[:_MOST_NAMED]]
    problem = _NOT_EQUAL.format(n=len(different), names="; ".join(names))
    return UnitOverview(step.output, UnitStatus.PARTIAL, problem=problem, sha256=fingerprint)


def run_comparison(
    batch: Batch, step: CompareStep, fingerprint: str, tell: Callable[[Text], None]
) -> None:
    """Compare the environments of a step, write the report, and record the result.

    Raises ``UsageError`` when the report cannot be written, and what ``export_frames`` raises.
    """
    path = batch.plan.file(step.output)
    with report_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    require_own(path, EXPORTED)
    here, there = (batch.environments.client(one) for one in (step.profile, step.other))
    catalogue = batch.environments.context(step.profile).catalogue
    found: list[ListingComparison] = []
    for one in EnvironmentComparison(here, there, catalogue).compare(step.listings):
        tell(_COMPARED.format(listing=one.listing))
        found.append(one)
    names = batch.environments.name(step.profile), batch.environments.name(step.other)
    _write_report(batch, step, found, names)
    manifest: dict[str, Any] = {"version": 1, "here": names[0], "there": names[1]}
    manifest["equal"] = all(one.is_equal for one in found)
    manifest["listings"] = [one.to_json() for one in found]
    files = {relative_name(batch.plan.folder, path): file_digest(path)}
    batch.ledger.exported(batch.id, step.name, names[0], ExportRecord(fingerprint, manifest, files))


def _fingerprint(step: CompareStep, before: Sequence[UnitOverview]) -> str:
    """Return a digest of what is compared, and of the rows that were sent before."""
    sent = [[unit.name, *(job.id for job in unit.jobs), unit.rows.accepted] for unit in before]
    wanted = [
        [one.title, one.resource, sorted(one.apart), sorted(map(str, one.filters.given.items()))]
        for one in step.listings
    ]
    asked = [wanted, step.other, step.output]
    return hashlib.sha256(json.dumps([asked, sent]).encode()).hexdigest()


def _summary(one: Mapping[str, Any]) -> str:
    """Return how a listing differs, in a few words of numbers and fields."""
    fields = ", ".join(f"{name} ({count})" for name, count in one["fields"].items())
    return f"{one['listing']}: {one['here']}/{one['there']}{f' · {fields}' if fields else ''}"


def _write_report(
    batch: Batch,
    step: CompareStep,
    found: Sequence[ListingComparison],
    names: tuple[str, str],
) -> None:
    path = batch.plan.file(step.output)
    title = _TITLE.format(here=names[0], there=names[1])
    signature = EXPORT_PROPERTY, step.name
    with (
        report_write_errors(path),
        new_workbook(path, title=str(title), signature=signature) as book,
    ):
        plain, bold = book.add_format(), book.add_format({"bold": True})
        for name, header, rows in _sheets(found, names):
            sheet = book.add_worksheet(str(name))
            for column, text in enumerate(header):
                sheet.write_string(0, column, str(text), bold)
            for place, row in enumerate(rows, start=1):
                for column, value in enumerate(row):
                    if isinstance(value, int):
                        sheet.write_number(place, column, value)
                    else:
                        write_plain_text(sheet, place, column, str(value), plain)
            sheet.set_column(0, len(header) - 1, _WIDTH)
            sheet.freeze_panes(1, 0)


_Row = Sequence[object]


def _sheets(
    found: Sequence[ListingComparison], names: tuple[str, str]
) -> Iterator[tuple[Text, Sequence[object], Iterator[_Row]]]:
    here, there = names
    yield (
        Text(pt="Listagens", en="Listings"),
        (_LISTING, here, there, _EQUAL, _ONLY.format(name=here), _ONLY.format(name=there), _RESULT),
        (
            (one.listing, one.here, one.there, one.equal, one.only_here, one.only_there, _word(one))
            for one in found
        ),
    )
    yield (
        Text(pt="Diferenças", en="Differences"),
        (_LISTING, _RECORD, _FIELD, here, there),
        (
            (one.listing, each.record, each.field, each.here, each.there)
            for one in found
            for each in one.differences
        ),
    )
    yield (
        Text(pt="Não comparado", en="Not compared"),
        (_LISTING, _FIELD, _REASON, _FILLED.format(name=here), _FILLED.format(name=there)),
        (
            (one.listing, each.field, each.reason, each.here, each.there)
            for one in found
            for each in one.not_compared
        ),
    )


def _word(one: ListingComparison) -> Text:
    if not one.complete:
        return Text(pt="não há prova de que está completa", en="not proven to be complete")
    return Text(pt="igual", en="equal") if one.is_equal else Text(pt="diferente", en="different")


_WIDTH = 24
_LISTING = Text(pt="Listagem", en="Listing")
_RECORD = Text(pt="Registro", en="Record")
_FIELD = Text(pt="Campo", en="Field")
_REASON = Text(pt="Motivo", en="Reason")
_RESULT = Text(pt="Resultado", en="Result")
_EQUAL = Text(pt="Iguais", en="Equal")
_ONLY = Text(pt="Só em {name}", en="Only in {name}")
_FILLED = Text(pt="Preenchidos em {name}", en="Filled in {name}")
_TITLE = Text(pt="Comparação de {here} com {there}", en="Comparison of {here} with {there}")
_COMPARED = Text(pt="comparada: {listing}", en="compared: {listing}")
_NOT_EQUAL = Text(
    pt="{n} {n:listagem difere|listagens diferem} (aqui/lá): {names}",
    en="{n} {n:listing differs|listings differ} (here/there): {names}",
)
