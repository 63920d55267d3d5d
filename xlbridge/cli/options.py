"""Options that several commands share, each declared once, and their values as data."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any, get_args

import click

from xlbridge.cli.completion import complete_resources
from xlbridge.i18n import Text
from xlbridge.report_forms import PRINTABLE_FORMS
from xlbridge.settings import (
    CSV_DELIMITER_VARIABLE,
    CSV_DELIMITERS,
    CSV_ENCODING_VARIABLE,
    CSV_ENCODINGS,
    SCHEMAS_VARIABLE,
    DateOrder,
    NumberStyle,
)

Decorated = Callable[..., Any]
Decorator = Callable[[Decorated], Decorated]


def option(*names: str, pt: str, en: str, **attributes: Any) -> Decorator:
    """Declare an option with its help in both languages."""
    return click.option(*names, help=str(Text(pt=pt, en=en)), **attributes)


def described_command(name: str, *, pt: str, en: str) -> Callable[[Decorated], click.Command]:
    """Declare a command with its help in both languages."""
    return click.command(name, help=str(Text(pt=pt, en=en)))


class _WorkbookPath(click.Path):
    """Path of a workbook to write; Excel opens it only under the extension of its format."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.suffix.lower() != ".xlsx":
            said = Text(
                pt="{path}: o nome precisa terminar em .xlsx, que é o que será gravado.",
                en="{path}: the name must end in .xlsx, which is what will be written.",
            )
            self.fail(str(said.format(path=path)), param, ctx)
        return path


WORKBOOK_OUTPUT = _WorkbookPath(path_type=Path, dir_okay=False)


def combined(options: Sequence[Decorator]) -> Decorator:
    """Apply several options as if each had been written, in this order, above the command."""
    return lambda command: reduce(lambda done, add: add(done), reversed(options), command)


def _format_option(forms: Sequence[str]) -> Decorator:
    """Return ``--format`` with a choice of forms, the first by default."""
    told = [PRINTABLE_FORMS[form].help for form in forms]
    return option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        pt=_sentence([text.pt for text in told], "ou"),
        en=_sentence([text.en for text in told], "or"),
    )


def _sentence(parts: Sequence[str], conjunction: str) -> str:
    *others, last = parts
    sentence = f"{', '.join(others)}, {conjunction} {last}."
    return sentence[0].upper() + sentence[1:]


format_option = _format_option(("text", "json"))
"""Forms of answers that are no reports."""

report_format_option = _format_option(
    [name for name, form in PRINTABLE_FORMS.items() if form.universal]
)
page_format_option = _format_option(list(PRINTABLE_FORMS))
"""Forms of reports that have a page, too."""


def _set_as_variable(
    name: str,
) -> Callable[[click.Context, click.Parameter, str | Path | None], None]:
    """Return what sets a variable to the value of an option that was given, for this command and
    for the processes that it may start."""

    def callback(
        context: click.Context, _parameter: click.Parameter, value: str | Path | None
    ) -> None:
        if value is not None:
            before = os.environ.get(name)
            os.environ[name] = value if isinstance(value, str) else str(value.resolve())
            context.call_on_close(partial(_restore_variable, name, before))

    return callback


def _restore_variable(name: str, before: str | None) -> None:
    if before is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = before


port_option = option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    metavar="P",
    pt="Porta; 0 é qualquer uma livre.",
    en="Port; 0 is any free one.",
)

schemas_option = option(
    "--schemas",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    callback=_set_as_variable(SCHEMAS_VARIABLE),
    is_eager=True,
    expose_value=False,
    pt="A pasta com os seus próprios recursos (padrão: XLBRIDGE_HOME/schemas).",
    en="The folder of your own resources (default: XLBRIDGE_HOME/schemas).",
)

sheet_options = combined(
    [
        option(
            "--resource",
            shell_complete=complete_resources,
            pt="O recurso; sem ele, é deduzido do arquivo.",
            en="The resource; without it, it is recognised from the workbook.",
        ),
        option("--sheet", pt="A planilha do arquivo.", en="The sheet of the workbook."),
    ]
)

all_sheets_option = option(
    "--all-sheets",
    is_flag=True,
    pt="Confere todas as planilhas do arquivo que têm dados de um recurso, também umas com as "
    "outras.",
    en="Checks every sheet of the workbook that has data for a resource, and one against another.",
)

csv_options = combined(
    [
        option(
            "--delimiter",
            type=click.Choice(list(CSV_DELIMITERS)),
            callback=_set_as_variable(CSV_DELIMITER_VARIABLE),
            is_eager=True,
            expose_value=False,
            pt="O separador das colunas de um .csv que não o deixa claro.",
            en="The delimiter of a .csv file that does not show it.",
        ),
        option(
            "--encoding",
            type=click.Choice(CSV_ENCODINGS),
            callback=_set_as_variable(CSV_ENCODING_VARIABLE),
            is_eager=True,
            expose_value=False,
            pt="A codificação de caracteres de um .csv que não a deixa clara.",
            en="The encoding of a .csv file that does not show it.",
        ),
    ]
)

numbers_option = option(
    "--numbers",
    type=click.Choice(get_args(NumberStyle)),
    pt="A escrita dos números em texto: pt é 1.234,56; en é 1,234.56.",
    en="The style of text numbers: pt is 1.234,56; en is 1,234.56.",
)

parse_options = combined(
    [
        csv_options,
        option(
            "--dates",
            type=click.Choice(get_args(DateOrder)),
            pt="A ordem de dia e mês nas datas em texto.",
            en="The order of day and month in text dates.",
        ),
        numbers_option,
    ]
)

map_option = option(
    "--map",
    "mapping",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="MAPPING",
    pt="Lê uma planilha com outro cabeçalho por um mapeamento (xlbridge map).",
    en="Reads a sheet with another header by a mapping (xlbridge map).",
)


def _links_of(
    _context: click.Context, _parameter: click.Parameter, given: Sequence[str]
) -> dict[str, str]:
    """Return the links of an option that may be given several times."""
    links = {}
    for text in given:
        column, sign, by = map(str.strip, text.partition("="))
        if not (column and sign and by):
            said = Text(
                pt="{text!r}: escreva COLUNA=RECURSO, como codigoDoCliente=cliente.",
                en="{text!r}: write COLUMN=RESOURCE, such as codigoDoCliente=cliente.",
            )
            raise click.BadParameter(str(said.format(text=text)))
        links[column] = by
    return links


link_option = option(
    "--link",
    "links",
    multiple=True,
    metavar="COLUMN=RESOURCE",
    callback=_links_of,
    pt="A coluna traz nomes (CNPJ, CPF, código próprio, nome) e não códigos, que são procurados "
    "no sistema, ou valores de outra planilha já enviada: ARQUIVO#COLUNA; pode se repetir.",
    en="The column has names (CNPJ, CPF, own code, name) in place of codes, which are looked up "
    "in the system, or values of another sheet, sent before: FILE#COLUMN; may be repeated.",
)

scheduler_option = option(
    "--scheduler",
    metavar="URL",
    pt="Um cluster Dask que faz o trabalho (tcp://… ou tls://…).",
    en="A Dask cluster that does the work (tcp://… or tls://…).",
)

worker_options = combined(
    [
        option(
            "--workers",
            type=click.IntRange(min=1),
            metavar="N",
            pt="Quantos processos conferem ao mesmo tempo (padrão: um por núcleo, quando os "
            "arquivos valem a pena).",
            en="How many processes check side by side (default: one for each core, where the "
            "files are worth it).",
        ),
        scheduler_option,
    ]
)

yes_option = option(
    "--yes",
    is_flag=True,
    pt="Não pergunta antes de enviar.",
    en="Does not ask before sending.",
)

force_option = option(
    "--force",
    is_flag=True,
    pt="Substitui o arquivo que existir.",
    en="Replaces a file that exists.",
)

status_copy_option = option(
    "--annotate",
    type=WORKBOOK_OUTPUT,
    pt="Grava uma cópia do arquivo com situação, motivo e código ao lado das linhas.",
    en="Writes a copy of the workbook with state, reason and code beside its rows.",
)


@dataclass(frozen=True, slots=True)
class ValidateArguments:
    """The options of the command, by the names that it gives them."""

    files: tuple[Path, ...]
    resource: str | None
    sheet: str | None
    all_sheets: bool
    form: str
    output: Path | None
    annotated: Path | None
    fixed: Path | None
    limit: int | None
    force: bool
    online: bool
    dates: DateOrder | None
    numbers: NumberStyle | None
    mapping: Path | None
    links: Mapping[str, str]
    workers: int | None
    scheduler: str | None
