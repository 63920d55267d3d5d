"""Options that several commands share, and what follows from them: settings and profile of the
running command, requests to validate files."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial, reduce, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

import click

from xlbridge.cli.help import COMMANDS, complete_profiles, complete_resources
from xlbridge.cli.output import write_result_to
from xlbridge.errors import UsageError
from xlbridge.files import make_private_folder, matching_files, require_distinct, require_new
from xlbridge.i18n import Text
from xlbridge.report_forms import PRINTABLE_FORMS
from xlbridge.settings import (
    CSV_DELIMITER_VARIABLE,
    CSV_DELIMITERS,
    CSV_ENCODING_VARIABLE,
    CSV_ENCODINGS,
    SCHEMAS_VARIABLE,
    DateOrder,
    Headers,
    NumberStyle,
    ParseOptions,
    Settings,
    read_settings,
)

if TYPE_CHECKING:
    from xlbridge.validation import ValidationRequest

Decorated = Callable[..., Any]
Decorator = Callable[[Decorated], Decorated]


def option(*names: str, pt: str, en: str, **attributes: Any) -> Decorator:
    """Declare an option with its help in both languages."""
    return click.option(*names, help=str(Text(pt=pt, en=en)), **attributes)


def described_command(
    name: str, *, pt: str = "", en: str = ""
) -> Callable[[Decorated], click.Command]:
    """Declare a command with its help in both languages, by default its line in the list of all."""
    return click.command(name, help=str(Text(pt=pt, en=en) if pt else COMMANDS[name]))


class _WorkbookPath(click.Path):
    """Path of a workbook to write, with the extension that Excel requires."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.suffix.lower() != ".xlsx":
            message = Text(
                pt="{path}: o nome precisa terminar em .xlsx, o formato que será gravado.",
                en="{path}: the name must end in .xlsx, the format that will be written.",
            )
            self.fail(str(message.format(path=path)), param, ctx)
        return path


WORKBOOK_OUTPUT = _WorkbookPath(path_type=Path, dir_okay=False)


def stdout_by_dash(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """Return None, for stdout, if the path of a text is ``-``; a callback of options."""
    return None if path == Path("-") else path


def require_file_name(_: click.Context, __: click.Parameter, path: Path) -> Path:
    """Raise ``BadParameter`` if the path is ``-``: rows and lists need files; a callback."""
    if path == Path("-"):
        message = Text(
            pt="uma exportação precisa de um arquivo; informe o nome dele.",
            en="an export needs a file; enter its name.",
        )
        raise click.BadParameter(str(message))
    return path


def expand_patterns(
    _: click.Context, __: click.Parameter, files: Sequence[Path]
) -> tuple[Path, ...]:
    """Return the files that patterns match, as shells of Windows do not; a callback."""
    expanded: list[Path] = []
    for file in files:
        is_pattern = not set("*?[").isdisjoint(str(file))
        expanded += (is_pattern and matching_files(Path(), str(file))) or [file]
    return tuple(expanded)


STDIN = Path("-")
"""Input file of that name: standard input."""


def saved_stdin(file: Path, folder: Path | None = None) -> Path:
    """Return the path of an input file; if that is ``-``, standard input is stored first.

    It is stored in ``folder`` under a name by its content, or for the running command only. Raises
    ``UsageError`` if standard input is a terminal or has nothing.
    """
    if file != STDIN:
        return file
    content = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    if not content:
        raise UsageError(
            Text(pt="A entrada padrão não traz nada.", en="Standard input has nothing."),
            Text(
                pt="Envie um arquivo por ela: xlbridge validate - < titulos.xlsx",
                en="Pipe a file into it: xlbridge validate - < titles.xlsx",
            ),
        )
    # Imported late: most commands read named files.
    import hashlib
    from tempfile import TemporaryDirectory

    name = "stdin"
    if folder is None:
        scratch = TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True)
        folder = Path(click.get_current_context().with_resource(scratch))
    else:
        make_private_folder(folder)
        name = f"{name}-{hashlib.sha256(content).hexdigest()[:16]}"
    # What is no text is recognised by its content.
    stored = folder / f"{name}{'.xlsx' if content.startswith(b'PK') else '.csv'}"
    stored.write_bytes(content)
    return stored


def combine_options(options: Sequence[Decorator]) -> Decorator:
    """Return a decorator that applies several options in this order."""
    return lambda command: reduce(lambda result, add: add(result), reversed(options), command)


def _result_options(forms: Sequence[str]) -> Decorator:
    """Return ``--format`` with a choice of forms, the first by default, and ``-o``."""
    texts = [PRINTABLE_FORMS[form].help for form in forms]
    options = combine_options(
        [
            option(
                "--format",
                "form",
                type=click.Choice(forms),
                default=forms[0],
                show_default=True,
                pt=_sentence([text.pt for text in texts], "ou"),
                en=_sentence([text.en for text in texts], "or"),
            ),
            option(
                "-o",
                "--output",
                type=click.Path(path_type=Path, dir_okay=False),
                callback=stdout_by_dash,
                metavar="FILE",
                pt="Grava o relatório num arquivo.",
                en="Writes the report to a file.",
            ),
        ]
    )
    return lambda command: options(_with_output(command))


def _with_output(command: Decorated) -> Decorated:
    """Return a command whose result goes to the file of ``-o``, unless that is one of its others.

    A workbook is only replaced with ``--force``: it may be one in which a person works.
    """

    @wraps(command)
    def with_output(*arguments: Any, output: Path | None, **options: Any) -> Any:
        if output is not None:
            # Imported late: few commands write a report to a file.
            import zipfile

            values = [value if isinstance(value, tuple) else (value,) for value in options.values()]
            files = [file for value in values for file in value if isinstance(file, Path)]
            require_distinct([output], files)
            if zipfile.is_zipfile(output) and not options.get("force"):
                require_new(output)
            write_result_to(output)
        return command(*arguments, **options)

    return with_output


def _sentence(parts: Sequence[str], conjunction: str) -> str:
    *others, last = parts
    sentence = f"{', '.join(others)}, {conjunction} {last}."
    return sentence[0].upper() + sentence[1:]


result_options = _result_options([name for name, form in PRINTABLE_FORMS.items() if form.universal])
page_result_options = _result_options(list(PRINTABLE_FORMS))
"""Options of reports that also have a page."""

json_result_options = _result_options(["json"])
"""Options of a result that is JSON in any case."""

form_option = option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    pt="Mensagens, ou o que foi gravado e as falhas em JSON.",
    en="Messages, or what was written and failures as JSON.",
)
"""Option of a command whose result is a file."""


def _set_as_variable(
    name: str,
) -> Callable[[click.Context, click.Parameter, str | Path | None], None]:
    """Return a callback that stores an option in an environment variable, so that processes
    started by the command see it too."""

    def callback(
        context: click.Context, _parameter: click.Parameter, value: str | Path | None
    ) -> None:
        if value is not None:
            before = os.environ.get(name)
            os.environ[name] = value if isinstance(value, str) else str(value.resolve())
            # The context of a command is not closed if other options of it are wrong.
            context.find_root().call_on_close(partial(restore, before))

    def restore(before: str | None) -> None:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before

    return callback


schemas_option = option(
    "--schemas",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    callback=_set_as_variable(SCHEMAS_VARIABLE),
    is_eager=True,
    expose_value=False,
    pt="A pasta com os seus próprios recursos (padrão: XLBRIDGE_HOME/schemas).",
    en="The folder of your own resources (default: XLBRIDGE_HOME/schemas).",
)

sheet_options = combine_options(
    [
        option(
            "--resource",
            shell_complete=complete_resources,
            pt="O recurso (padrão: deduzido do arquivo).",
            en="The resource (default: recognised from the workbook).",
        ),
        option("--sheet", pt="A planilha do arquivo.", en="The sheet of the workbook."),
    ]
)

csv_options = combine_options(
    [
        option(
            "--delimiter",
            type=click.Choice(list(CSV_DELIMITERS)),
            callback=_set_as_variable(CSV_DELIMITER_VARIABLE),
            is_eager=True,
            expose_value=False,
            pt="O separador das colunas de um .csv, se não for reconhecido.",
            en="The delimiter of a .csv file, if it is not recognised.",
        ),
        option(
            "--encoding",
            type=click.Choice(CSV_ENCODINGS),
            callback=_set_as_variable(CSV_ENCODING_VARIABLE),
            is_eager=True,
            expose_value=False,
            pt="A codificação de caracteres de um .csv, se não for reconhecida.",
            en="The encoding of a .csv file, if it is not recognised.",
        ),
    ]
)

numbers_option = option(
    "--numbers",
    type=click.Choice(get_args(NumberStyle)),
    pt="A escrita dos números em texto: pt é 1.234,56; en é 1,234.56.",
    en="The style of text numbers: pt is 1.234,56; en is 1,234.56.",
)


def _parse_links(
    _context: click.Context, _parameter: click.Parameter, texts: Sequence[str]
) -> dict[str, str]:
    links = {}
    for text in texts:
        column, sign, target = map(str.strip, text.partition("="))
        if not (column and sign and target):
            message = Text(
                pt="{text!r}: escreva COLUNA=RECURSO, como codigoDoCliente=cliente.",
                en="{text!r}: write COLUMN=RESOURCE, such as codigoDoCliente=cliente.",
            )
            raise click.BadParameter(str(message.format(text=text)))
        links[column] = target
    return links


_link_option = option(
    "--link",
    "links",
    multiple=True,
    metavar="COLUMN=RESOURCE",
    callback=_parse_links,
    pt="A coluna traz nomes (CNPJ, CPF, código próprio, nome) em vez de códigos, que são "
    "procurados no sistema, ou valores de outra planilha já enviada: ARQUIVO#COLUNA; pode se "
    "repetir.",
    en="The column has names (CNPJ, CPF, own code, name) instead of codes, which are looked up "
    "in the system, or values of another sheet, sent before: FILE#COLUMN; may be repeated.",
)

parse_options = combine_options(
    [
        csv_options,
        option(
            "--dates",
            type=click.Choice(get_args(DateOrder)),
            pt="A ordem de dia e mês nas datas em texto.",
            en="The order of day and month in text dates.",
        ),
        numbers_option,
        option(
            "--accept",
            "accept",
            multiple=True,
            metavar="CODE[:COLUMN]",
            pt="O achado está certo assim: não é mais relatado, também nas próximas planilhas com "
            "este cabeçalho (none esquece o que foi aceito); pode se repetir.",
            en="The finding is right as it is: it is not reported any more, in later sheets with "
            "this header either (none forgets what was accepted); may be repeated.",
        ),
        option(
            "--map",
            "mapping",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="MAPPING",
            pt="Lê uma planilha com outro cabeçalho por um mapeamento (xlbridge map).",
            en="Reads a sheet with another header through a mapping (xlbridge map).",
        ),
        _link_option,
    ]
)
"""Options for reading a workbook, the fields of ``ReadingArguments``."""

worker_options = combine_options(
    [
        option(
            "--workers",
            type=click.IntRange(min=1),
            metavar="N",
            pt="Número de processos que conferem ao mesmo tempo (padrão: um por núcleo, se os "
            "arquivos forem grandes).",
            en="Number of processes that check in parallel (default: one per core, if the files "
            "are large enough).",
        ),
        option(
            "--scheduler",
            metavar="URL",
            pt="Um cluster Dask que faz o trabalho (tcp://… ou tls://…).",
            en="A Dask cluster that does the work (tcp://… or tls://…).",
        ),
    ]
)

force_option = option(
    "--force",
    is_flag=True,
    pt="Substitui um arquivo existente.",
    en="Replaces an existing file.",
)

headers_option = option(
    "--headers",
    type=click.Choice(get_args(Headers)),
    pt="Cabeçalhos do arquivo: títulos para pessoas (padrão) ou os nomes do sistema.",
    en="Headers of a workbook: titles for people (default), or the system's names.",
)

status_copy_option = option(
    "--annotate",
    type=WORKBOOK_OUTPUT,
    pt="Grava uma cópia do arquivo com situação, motivo e código ao lado das linhas.",
    en="Writes a copy of the workbook with state, reason and code next to its rows.",
)


@dataclass(frozen=True, slots=True)
class ReadingArguments:
    """Arguments of a command for how its workbooks are read, by the names of its parameters."""

    dates: DateOrder | None
    numbers: NumberStyle | None
    accept: tuple[str, ...]
    mapping: Path | None
    links: Mapping[str, str]

    @classmethod
    def take(cls, options: dict[str, Any]) -> Self:
        """Return the arguments, removed from the options of a command by name."""
        return cls(**{field.name: options.pop(field.name) for field in fields(cls)})

    def requests(
        self, files: Iterable[Path], folder: Path, **more: Any
    ) -> "list[ValidationRequest]":
        """Return the requests that validate files, with ``more`` of their fields.

        ``folder`` has the findings that were accepted before. Raises ``UsageError`` for a finding
        that does not exist, or a mapping that cannot be read.
        """
        # Imported late: most commands read no workbook.
        from xlbridge.validation import AcceptedFindings, ValidationRequest

        mapping = None
        if self.mapping is not None:
            from xlbridge.validation.mapping import read_mapping

            mapping = read_mapping(self.mapping)
        accepted = AcceptedFindings.of(self.accept, folder)
        return [
            ValidationRequest(
                file=file,
                reading=ParseOptions(dates=self.dates, numbers=self.numbers),
                mapping=mapping,
                links=self.links,
                accepted=accepted,
                **more,
            )
            for file in files
        ]


_CHOSEN_PROFILE = "xlbridge.profile"
"""Key of the chosen profile in the context of a command."""


def _choose_profile(context: click.Context, _parameter: click.Parameter, name: str | None) -> None:
    # Not as a variable, whose name may be one for an address instead of a profile.
    context.meta[_CHOSEN_PROFILE] = name


_environment_options = (
    option(
        "--profile",
        metavar="NAME",
        expose_value=False,
        callback=_choose_profile,
        shell_complete=complete_profiles,
        pt="O ambiente, um nome de profiles.toml.",
        en="The environment, a name from profiles.toml.",
    ),
    option(
        "--ca-bundle",
        metavar="FILE",
        expose_value=False,
        callback=_set_as_variable("XLBRIDGE_CA_BUNDLE"),
        pt="Autoridades certificadoras em que confiar (PEM).",
        en="Certificate authorities to trust (PEM).",
    ),
    option(
        "--timeout",
        metavar="SECONDS",
        expose_value=False,
        callback=_set_as_variable("XLBRIDGE_TIMEOUT"),
        pt="Tempo de espera por uma resposta (60; importações diretas grandes podem precisar de "
        "mais).",
        en="How long to wait for an answer (60; large direct imports may need more).",
    ),
)


def add_environment_options(command: click.Command) -> None:
    """Add the options that choose the environment to a command, unless it has them."""
    if not any(parameter.name == "profile" for parameter in command.params):
        for add in _environment_options:
            add(command)


def settings_without_profile() -> Settings:
    """Return the settings of environment variables and options, without those of a profile.

    Raises ``ConfigError`` for invalid settings.
    """
    context = click.get_current_context(silent=True)
    profile = context.meta.get(_CHOSEN_PROFILE) if context else None
    settings = read_settings()
    return settings if profile is None else settings.with_profile(profile)


def command_settings() -> Settings:
    """Return the settings of the running command, with those of its profile.

    Raises ``ConfigError`` for invalid settings or profiles.
    """
    # Late: some commands need no profile.
    from xlbridge.profiles import choose_profile, settings_for

    settings = settings_without_profile()
    return settings_for(settings, choose_profile(settings))
