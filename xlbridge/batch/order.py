"""Which step comes after which: as the plan says, or as the resources refer to each other."""

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from xlbridge.batch.plan import AnyStep, ExportStep
from xlbridge.resources.catalogue import Catalogue


def references_of(
    catalogue: Catalogue, steps: Mapping[str, Mapping[str, Any]], name: str
) -> Iterator[str]:
    """Yield the steps that send what the resource of a step refers to.

    A resource that is named as a registry fills that registry. ``steps`` are the plan's, as they
    are written.
    """
    resource = steps[name].get("resource")
    if resource is None or resource not in catalogue:
        return
    registries = {column.references for column in catalogue[resource].columns} - {resource}
    for other, body in steps.items():
        if other != name and "upload" in body and body.get("resource") in registries:
            yield other


def in_order(steps: Sequence[AnyStep]) -> list[AnyStep]:
    """Return the steps so that each comes after those it waits for.

    Otherwise the plan's own order holds, exports last: they are to tell what has become.
    """
    by_name = {step.name: step for step in steps}
    place = {step.name: (isinstance(step, ExportStep), n) for n, step in enumerate(steps)}
    sorter = TopologicalSorter({step.name: step.after for step in steps})
    sorter.prepare()
    ready: list[str] = []
    ordered: list[AnyStep] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=place.__getitem__)
        first = ready.pop(0)
        ordered.append(by_name[first])
        sorter.done(first)
    return ordered


def circle(steps: Sequence[AnyStep]) -> Sequence[str]:
    """Return steps that wait for each other in a circle, none where there is no such."""
    try:
        TopologicalSorter({step.name: step.after for step in steps}).prepare()
    except CycleError as error:
        names: Sequence[str] = error.args[1]
        return names
    return ()
