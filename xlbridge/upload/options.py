"""Options of an upload, each declared once with the option of commands that sets it, and the mode
that they ask for: how the rows are sent."""

import time
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Mode, Resource

if TYPE_CHECKING:
    from xlbridge.upload.job import Job
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


@dataclass(frozen=True, slots=True)
class CommandOption:
    """Option by which commands set a field: its help, and how a command line writes it.

    ``name`` is that of the field where it is empty; ``limits`` are the smallest and the greatest
    value of a number.
    """

    help: Text
    commands: tuple[str, ...]
    name: str
    metavar: str | None
    limits: tuple[int, int | None]


_SHEETS = ("upload", "retry")
_JOBS = (*_SHEETS, "resume")
_WRITES = (*_JOBS, "undo")
"""Commands that take an option: those that read a sheet; that run a job; that write records."""

_Default = TypeVar("_Default")


def _offered(
    default: _Default,
    commands: tuple[str, ...],
    *,
    pt: str,
    en: str,
    name: str = "",
    metavar: str | None = None,
    limits: tuple[int, int | None] = (1, None),
) -> _Default:
    """Declare a field that is an option of commands, too, with its help in both languages."""
    offered = CommandOption(Text(pt=pt, en=en), commands, name, metavar, limits)
    declared: _Default = field(default=default, metadata={_OFFERED: offered})
    return declared


_OFFERED = "command_option"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Options that decide the actions of rows; the names of the fields stand in users' journals.

    ``look_up`` reads the rows' records before anything is written, without which a lost answer
    stays without proof.
    """

    again: str | None = _offered(
        None,
        _SHEETS,
        metavar="REASON",
        pt="Inclui de novo, de propósito, o que já existe; o motivo fica registrado.",
        en="Creates on purpose what exists already; the reason is recorded.",
    )
    update: bool = _offered(
        False,
        _SHEETS,
        pt="Altera os registros que já estão no sistema com outros valores.",
        en="Changes the records that are in the system with other values.",
    )
    clear: bool = _offered(
        False,
        _SHEETS,
        pt="Com --update: uma célula vazia apaga o valor que o sistema tem.",
        en="With --update: an empty cell clears the value that the system has.",
    )
    create_unread: bool = _offered(
        False,
        _SHEETS,
        pt="Inclui também as linhas que não foi possível procurar no sistema.",
        en="Creates also the rows that could not be looked up in the system.",
    )
    good_rows: bool = _offered(
        False,
        _SHEETS,
        pt="Envia as linhas boas; as que têm erros vão para o arquivo das linhas rejeitadas.",
        en="Sends the good rows; those with errors go into the rejects workbook.",
    )
    look_up: bool = _offered(
        True,
        _JOBS,
        name="read-back",
        pt="Lê antes o que o sistema já tem destas linhas; sem isso uma dúvida fica sem prova.",
        en="Reads what the system has of these rows; without it a doubt stays without proof.",
    )

    def to_journal(self) -> dict[str, Any]:
        """Return the options that are kept with a job."""
        return {one.name: getattr(self, one.name) for one in fields(PlanOptions)}

    @staticmethod
    def of_job(job: "Job") -> "PlanOptions":
        """Return the options that a job was planned with, which another version may have stored.

        A part's are those of its parent. An earlier version noted the reason of sending again by
        itself.
        """
        stored = job.last("planning") or {"again": job.last("again")}
        known = (one.name for one in fields(PlanOptions))
        return PlanOptions(**{name: stored[name] for name in known if name in stored})


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadOptions(PlanOptions):
    """Options of one upload; those that commands take carry their help.

    ``consent`` is asked once, right before the first write. ``rest_seconds`` is how much time
    passes between two parts. With ``foreign_numbers`` the numbers of records that a sheet carries
    are another system's, and lead to none here. ``progress`` is told what is being done,
    ``counted`` how many rows or records are done of all. ``settle_seconds`` is how long a request
    whose answer was lost may still be on its way; None takes the environment's own.
    """

    consent: "Consent"
    mode: RequestedMode = _offered(  # noqa: RUF009 - a text is immutable
        "auto",
        ("upload",),
        pt="direct: de uma vez; preview: só prévia; queue: pela fila; records: registro a "
        "registro; auto escolhe.",
        en="direct: at once; preview: only that; queue: through the queue; records: one by one; "
        "auto chooses.",
    )
    chunk_rows: int | None = _offered(
        None,
        _SHEETS,
        pt="Envia em partes com esse número de linhas, cada uma como um envio.",
        en="Sends in parts of that many rows, each an upload of its own.",
    )
    wait: bool = _offered(
        True, _JOBS, pt="Espera o resultado da fila.", en="Waits for the queue's outcome."
    )
    preview: bool = _offered(
        True, _JOBS, pt="Faz a prévia antes de enviar.", en="Previews before sending."
    )
    at_once: int = _offered(
        4,
        _WRITES,
        limits=(1, 16),
        pt="Registros gravados ao mesmo tempo, onde são gravados um a um.",
        en="Records written at the same time, where they are written one by one.",
    )
    rest_seconds: float = 0
    foreign_numbers: bool = False
    progress: Progress = lambda _text: None
    counted: Counted = lambda _done, _total: None
    settle_seconds: float | None = None
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def offered_by(cls, command: str) -> "list[tuple[Field[Any], CommandOption]]":
        """Return the fields that a command has options for, those of the fewest commands first."""
        offered = [(one, one.metadata[_OFFERED]) for one in fields(cls) if _OFFERED in one.metadata]
        by_reach = sorted(offered, key=lambda it: len(it[1].commands))
        return [(one, option) for one, option in by_reach if command in option.commands]

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
