"""Options of an upload, and the mode that they ask for: how the rows are sent."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Mode, Resource
from xlbridge.upload.job import PlanOptions

if TYPE_CHECKING:
    from xlbridge.upload.planning.consent import Consent

RequestedMode = Literal["auto", "direct", "preview", "queue", "records"]

Progress = Callable[[Text], None]
"""Receives a line about each step of an upload; it may be called often."""

Counted = Callable[[int, int], None]
"""Receives how many rows or records of an upload are done, of how many; it may be called often."""


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """Mode that was chosen, and the reason."""

    mode: Mode
    reason: Text


_MODES_BY_ITSELF: Mapping[Mode, Text] = {
    Mode.QUEUE: Text(
        pt="fila: o resultado pode ser conferido pelo log",
        en="queue: its outcome can be checked by the log",
    ),
    Mode.DIRECT: Text(
        pt="direto: este recurso não tem fila", en="direct: this resource has no queue"
    ),
    Mode.RECORDS: Text(
        pt="registro a registro: este recurso não tem importação",
        en="record by record: this resource has no import",
    ),
}
"""Modes that ``auto`` chooses, the first that a resource has, and why."""

_LISTS_BY_RECORD = Text(
    pt="registro a registro: a importação não aceita listas",
    en="record by record: an import takes no lists",
)
_NO_IMPORT = Text(
    pt="A interface não tem importação deste recurso, nem prévia: os registros são gravados um a "
    "um. Para ver o plano sem enviar, responda não à confirmação.",
    en="The interface has no import of this resource, nor a preview: its records are written one "
    "by one. To see the plan and send nothing, answer no when asked.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadOptions(PlanOptions):
    """Options of one upload.

    ``consent`` is asked once, right before the first write. ``mode`` is how the rows are sent,
    ``chunk_rows`` the most that one part of the sheet may have, ``rest_seconds`` how much time
    passes between two parts, ``at_once`` how many records are written at the same time where they
    are written one by one. With ``foreign_numbers`` the numbers of records that a sheet carries are
    another system's, and lead to none here. ``preview`` lets the system read the sheet first;
    ``wait`` polls until the outcome is known. ``progress`` is told what is being done, ``counted``
    how many rows or records are done of all. ``settle_seconds`` is how long a request whose answer
    was lost may still be on its way; None takes the environment's own.
    """

    consent: "Consent"
    mode: RequestedMode = "auto"
    chunk_rows: int | None = None
    rest_seconds: float = 0
    at_once: int = 4
    foreign_numbers: bool = False
    preview: bool = True
    wait: bool = True
    progress: Progress = lambda _text: None
    counted: Counted = lambda _done, _total: None
    settle_seconds: float | None = None
    sleep: Callable[[float], None] = time.sleep

    def choose_mode(self, resource: Resource, *, with_lists: bool = False) -> ModeChoice:
        """Choose how to send a resource's sheet, ``with_lists`` one with rows in its child sheets.

        ``auto`` takes the queue where the resource has one: it is staged first, and a lost answer
        can be settled by its log; else a direct import; records one by one where there is no
        import, and for records with lists, which no import takes. Raises ``UsageError`` when the
        resource does not accept the mode.
        """
        by_record = with_lists and resource.is_imported
        if by_record and self.mode in {"auto", Mode.RECORDS}:
            return ModeChoice(Mode.RECORDS, _LISTS_BY_RECORD)
        if self.mode == "auto":
            mode = next(mode for mode in _MODES_BY_ITSELF if mode in resource.modes)
            return ModeChoice(mode, _MODES_BY_ITSELF[mode])
        mode = Mode(self.mode)
        if by_record:
            raise UsageError(
                Text(
                    pt="O modo {mode} não aceita as planilhas {names}.",
                    en="The mode {mode} does not take the sheets {names}.",
                ).format(mode=mode, names=", ".join(child.sheet for child in resource.children)),
                Text(pt="Envie com --mode records.", en="Send it with --mode records."),
            )
        if mode not in resource.modes:
            raise UsageError(
                Text(
                    pt="{resource} não aceita o modo {mode}; aceita: {modes}.",
                    en="{resource} does not accept the mode {mode}; it accepts: {modes}.",
                ).format(resource=resource.name, mode=mode, modes=", ".join(resource.modes)),
                None if resource.is_imported else _NO_IMPORT,
            )
        return ModeChoice(
            mode, Text(pt="pedido na linha de comando", en="asked for on the command line")
        )


def pace_text(done: int, left: int, seconds: float) -> Text:
    """Return how many were done in a second, and the time that the rest takes at that rate."""
    rate = done / max(seconds, 0.001)
    return Text(pt=" · {rate}/s · faltam {time}", en=" · {rate}/s · {time} left").format(
        rate=f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}",
        time=timedelta(seconds=round(left / rate)),
    )
