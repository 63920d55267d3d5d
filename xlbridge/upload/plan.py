"""What will be sent, how, and why so: decided before anything is."""

from dataclasses import dataclass
from typing import Literal

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.resource import Mode, Resource

WantedMode = Literal["auto", "direct", "preview", "queue"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The mode that was chosen, and why."""

    mode: Mode
    reason: Text


def choose_mode(resource: Resource, wanted: WantedMode) -> Plan:
    """Choose how to send a resource's sheet.

    ``auto`` takes the queue where the resource has one: it is staged first, and a lost answer can
    be settled by its log. Raises ``UsageError`` when the resource cannot be sent as wanted.
    """
    if wanted == "auto":
        if resource.paths.queue is not None:
            return Plan(
                Mode.QUEUE,
                Text(
                    pt="fila: o resultado pode ser conferido pelo log",
                    en="queue: its outcome can be checked by the log",
                ),
            )
        return Plan(
            Mode.DIRECT,
            Text(pt="direto: este recurso não tem fila", en="direct: this resource has no queue"),
        )
    mode = Mode(wanted)
    if mode not in resource.paths.modes:
        raise UsageError(
            Text(
                pt="{resource} não aceita o modo {mode}; aceita: {modes}.",
                en="{resource} does not take the mode {mode}; it takes: {modes}.",
            ).format(resource=resource.name, mode=mode, modes=", ".join(resource.paths.modes))
        )
    return Plan(mode, Text(pt="pedido na linha de comando", en="asked for on the command line"))
