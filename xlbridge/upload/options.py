"""Options of an upload, each declared once together with its command-line option, and the choice
of the mode in which rows are sent."""

import time
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Mode, Resource

if TYPE_CHECKING:
    from xlbridge.upload.job import Job
    from xlbridge.upload.planning.consent import Consent

RequestedMode = Literal["auto", "direct", "preview", "queue", "records"]

Progress = Callable[[Text], None]
"""Receives a line about each step of an upload; may be called often."""

CountCallback = Callable[[int, int], None]
"""Receives the numbers of rows or records done and in total; may be called often."""


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """Chosen mode, and the reason."""

    mode: Mode
    reason: Text


_LISTS_BY_RECORD = Text(
    pt="registro a registro: a importação não aceita listas",
    en="record by record: imports do not accept lists",
)
_NO_IMPORT = Text(
    pt="A interface não tem importação deste recurso, nem prévia: os registros são gravados um a "
    "um. Para ver o plano sem enviar, responda não à confirmação.",
    en="The interface has neither an import nor a preview for this resource: its records are "
    "written one by one. To see the plan without sending, answer no when asked.",
)


@dataclass(frozen=True, slots=True)
class CommandOption:
    """Command-line option that sets a field.

    An empty ``name`` means the field's name; ``limits`` are the least and greatest value of a
    number.
    """

    help: Text
    commands: tuple[str, ...]
    name: str
    metavar: str | None
    limits: tuple[int, int | None]


_SHEETS = ("upload", "retry")
_JOBS = (*_SHEETS, "resume")
_WRITES = (*_JOBS, "undo")
"""Commands that read a sheet; that run a job; that write records."""

_Default = TypeVar("_Default")


def _option(
    default: _Default,
    commands: tuple[str, ...],
    *,
    pt: str,
    en: str,
    name: str = "",
    metavar: str | None = None,
    limits: tuple[int, int | None] = (1, None),
) -> _Default:
    """Declare a field that is also a command-line option, with its help in both languages."""
    option = CommandOption(Text(pt=pt, en=en), commands, name, metavar, limits)
    declared: _Default = field(default=default, metadata={_COMMAND_OPTION: option})
    return declared


_COMMAND_OPTION = "command_option"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Options that decide the actions of rows; the field names are stored in users' journals.

    ``look_up`` reads the rows' records before anything is written, without which a lost answer
    cannot be proven.
    """

    again: str | None = _option(
        None,
        _SHEETS,
        metavar="REASON",
        pt="Inclui de novo, de propósito, o que já existe; o motivo fica registrado.",
        en="Deliberately creates what already exists; the reason is recorded.",
    )
    update: bool = _option(
        False,
        _SHEETS,
        pt="Altera os registros que já estão no sistema com outros valores.",
        en="Updates records that are in the system with other values.",
    )
    update_only: bool = _option(
        False,
        _SHEETS,
        pt="Como --update, mas não inclui nada: as linhas que não estão no sistema aguardam você.",
        en="Like --update, but creates nothing: rows that are not in the system are not sent.",
    )
    delete: bool = _option(
        False,
        ("upload",),
        pt="Exclui os registros da planilha que estão no sistema com os mesmos valores; não inclui "
        "nem altera nada.",
        en="Deletes the sheet's records that are in the system with the same values; creates and "
        "changes nothing.",
    )
    clear: bool = _option(
        False,
        _SHEETS,
        pt="Com --update: uma célula vazia apaga o valor que o sistema tem.",
        en="With --update: an empty cell clears the value that the system has.",
    )
    create_unread: bool = _option(
        False,
        _SHEETS,
        pt="Inclui também as linhas que não foi possível procurar no sistema.",
        en="Also creates rows that could not be looked up in the system.",
    )
    good_rows: bool = _option(
        False,
        _SHEETS,
        pt="Envia as linhas boas; as que têm erros vão para o arquivo das linhas rejeitadas.",
        en="Sends the good rows; those with errors go into the rejects workbook.",
    )
    foreign_numbers: bool = _option(
        False,
        _SHEETS,
        pt="Os números de registros da planilha são de outro sistema: só as chaves contam.",
        en="The record numbers in the sheet are another system's: only keys count.",
    )
    look_up: bool = _option(
        True,
        _JOBS,
        name="read-back",
        pt="Lê antes os registros destas linhas; sem isso, uma dúvida não pode ser esclarecida.",
        en="Reads the rows' records first; without it, a doubtful outcome cannot be settled.",
    )

    @property
    def updates(self) -> bool:
        """True if records with other values are changed."""
        return self.update or self.update_only

    def to_journal(self) -> dict[str, Any]:
        """Return the options that are stored with a job."""
        return {option.name: getattr(self, option.name) for option in fields(PlanOptions)}

    @staticmethod
    def of_job(job: "Job") -> "PlanOptions":
        """Return the options that a job, not a part, was planned with; any version may have stored
        them."""
        stored = job.notes.planning
        known = (option.name for option in fields(PlanOptions))
        return PlanOptions(**{name: stored[name] for name in known if name in stored})


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadOptions(PlanOptions):
    """Options of one upload.

    ``consent`` is asked once, right before the first write. ``pause_seconds`` is the time between
    two parts. ``progress`` receives messages, ``on_count`` the numbers of rows or records done.
    ``settle_seconds`` is how long a request may still arrive after its answer was lost; None means
    the environment's setting.
    """

    consent: "Consent"
    mode: RequestedMode = _option(  # noqa: RUF009 - a text is immutable
        "auto",
        ("upload",),
        pt="direct: de uma vez; preview: só prévia; queue: pela fila; records: registro a "
        "registro; auto escolhe.",
        en="direct: at once; preview: preview only; queue: through the queue; records: one by one; "
        "auto chooses.",
    )
    chunk_rows: int | None = _option(
        None,
        _SHEETS,
        pt="Envia em partes com esse número de linhas, cada uma como um envio.",
        en="Sends in parts of that many rows, each an upload of its own.",
    )
    wait: bool = _option(
        True, _JOBS, pt="Espera o resultado da fila.", en="Waits for the queue's outcome."
    )
    preview: bool = _option(
        True, _JOBS, pt="Faz a prévia antes de enviar.", en="Previews before sending."
    )
    at_once: int = _option(
        4,
        _WRITES,
        limits=(1, 16),
        pt="Registros gravados ao mesmo tempo, onde são gravados um a um.",
        en="Records written at the same time, where they are written one by one.",
    )
    pause_seconds: float = 0
    progress: Progress = lambda _text: None
    on_count: CountCallback = lambda _done, _total: None
    settle_seconds: float | None = None
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def command_fields(cls, command: str) -> "list[tuple[Field[Any], CommandOption]]":
        """Return the fields with an option of a command, those of the fewest commands first."""
        options = [
            (declared, option)
            for declared in fields(cls)
            if (option := declared.metadata.get(_COMMAND_OPTION)) and command in option.commands
        ]
        return sorted(options, key=lambda it: len(it[1].commands))

    def choose_mode(self, resource: Resource, *, with_lists: bool = False) -> ModeChoice:
        """Choose how to send a resource's sheet; ``with_lists`` if its child sheets have rows.

        ``auto`` prefers the queue, which is staged first and whose log settles lost answers, to a
        direct import. Records are written one by one if there is no import, or if they have lists,
        which imports do not accept. Raises ``UsageError`` if the resource does not accept the mode.
        """
        by_record = with_lists and resource.is_imported
        if by_record and self.mode in {"auto", Mode.RECORDS}:
            return ModeChoice(Mode.RECORDS, _LISTS_BY_RECORD)
        if self.mode == "auto":
            return next(
                ModeChoice(mode, reason)
                for mode in Mode
                if mode in resource.modes and (reason := mode.channel.auto_reason) is not None
            )
        mode = Mode(self.mode)
        if by_record:
            raise UsageError(
                Text(
                    pt="O modo {mode} não aceita as planilhas {names}.",
                    en="The mode {mode} does not accept the sheets {names}.",
                ).format(mode=mode, names=", ".join(child.sheet for child in resource.children)),
                Text(
                    pt="Envie com --mode records.",
                    en="Send it with --mode records.",
                    page=Text(
                        pt="Peça a quem cuida do ambiente que confira o modo de envio.",
                        en="Ask the person who looks after the environment to check the mode of "
                        "uploads.",
                    ),
                ),
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
            mode,
            Text(pt="modo escolhido na linha de comando", en="mode chosen on the command line"),
        )
