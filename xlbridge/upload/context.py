"""Context and options of uploads: journal and catalogue, the mode, the options of a run."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Mode, Resource
from xlbridge.settings import Settings
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal

RequestedMode = Literal["auto", "direct", "preview", "queue"]


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """The mode that was chosen, and why."""

    mode: Mode
    reason: Text


def choose_mode(resource: Resource, wanted: RequestedMode) -> ModeChoice:
    """Choose how to send a resource's sheet.

    ``auto`` takes the queue where the resource has one: it is staged first, and a lost answer can
    be settled by its log. Raises ``UsageError`` when the resource cannot be sent as wanted.
    """
    if wanted == "auto":
        if resource.paths.queue is not None:
            return ModeChoice(
                Mode.QUEUE,
                Text(
                    pt="fila: o resultado pode ser conferido pelo log",
                    en="queue: its outcome can be checked by the log",
                ),
            )
        return ModeChoice(
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
    return ModeChoice(
        mode, Text(pt="pedido na linha de comando", en="asked for on the command line")
    )


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run goes about it.

    ``read_back`` reads the records of the rows before anything is written, ``preview`` asks the
    remote system to read the sheet; ``wait`` polls until the outcome is known. ``settle_seconds``
    is how long a request whose answer was lost may still be on its way. ``consent`` is asked once,
    right before the first write, with the job (of a split sheet the parent) and the number of rows
    that the preview read.
    """

    consent: Callable[[Job, int | None], bool]
    tell: Callable[[Text], None] = lambda _text: None
    read_back: bool = True
    preview: bool = True
    wait: bool = True
    settle_seconds: float = 900.0
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class UploadContext:
    """What every upload needs at hand."""

    settings: Settings
    catalogue: Catalogue
    journal: Journal
