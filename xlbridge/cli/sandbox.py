"""``xlbridge sandbox`` and ``ui``: serve the sandbox and the page on this computer."""

import os
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import click

from xlbridge.cli.options import (
    described_command,
    option,
    schemas_option,
    settings_without_profile,
)
from xlbridge.cli.output import print_message, show_progress
from xlbridge.extras import require_extra
from xlbridge.i18n import Text
from xlbridge.processes import heavy_imports
from xlbridge.profiles import EMBEDDED_NAME
from xlbridge.sandbox import Behaviour, RunningSandbox, SeedKind, parse_faults
from xlbridge.settings import read_settings
from xlbridge.wire.imports import NO_QUIRKS

_port_option = option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    metavar="P",
    pt="Porta; 0 significa qualquer porta livre.",
    en="Port; 0 means any free port.",
)


@described_command(
    "sandbox",
    pt="Inicia o ambiente de testes neste computador; ele fica no ar até ser interrompido.",
    en="Runs the sandbox on this computer until interrupted.",
)
@_port_option
@option(
    "--db",
    "database",
    metavar="URL",
    pt="Banco de dados: um arquivo SQLite, ou postgresql+psycopg://…",
    en="Database: an SQLite file, or postgresql+psycopg://…",
)
@option(
    "--seed",
    type=click.Choice([kind.value for kind in SeedKind]),
    default=SeedKind.DEMO.value,
    show_default=True,
    pt="O conteúdo inicial de um banco novo: só os cadastros de apoio, ou uma pequena empresa.",
    en="The initial content of a new database: the registries only, or a small company.",
)
@option(
    "--scale",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    pt="Multiplica os registros da empresa de demonstração.",
    en="Multiplies the records of the demo company.",
)
@option(
    "--ready-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    pt="Arquivo JSON com endereço e credenciais, gravado quando o sistema está pronto.",
    en="JSON file with address and credentials, written once the system is ready.",
)
@option(
    "--expose",
    metavar="ADDRESS",
    pt="Outro endereço em que escutar; exige XLBRIDGE_PASSWORD.",
    en="Another address to listen on; needs XLBRIDGE_PASSWORD.",
)
@option(
    "--host-name",
    "host_names",
    multiple=True,
    metavar="NAME",
    pt="Com --expose: mais um nome de host do sistema; pode se repetir.",
    en="With --expose: another host name of the system; may be repeated.",
)
@option(
    "--while-stdin-open",
    is_flag=True,
    pt="Termina quando a entrada padrão fecha.",
    en="Ends when standard input closes.",
)
@option(
    "--faults",
    metavar="SPEC",
    pt="Provoca falhas, para ensaios, como delay=0.5@0.2,cut-after@0.05,seed=7.",
    en="Injects faults, for rehearsals: delay=0.5@0.2,cut-after@0.05,seed=7.",
)
@option(
    "--token-lifetime",
    type=click.FloatRange(min=0),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    pt="Validade de um acesso.",
    en="Lifetime of a token.",
)
@option(
    "--strict",
    is_flag=True,
    pt="Só aceita nomes, datas e documentos escritos exatamente como na descrição da interface.",
    en="Accepts names, dates and documents only as the interface's description writes them.",
)
@option(
    "--quirks",
    "quirks_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    pt="Comporta-se como a instalação que um arquivo de particularidades descreve.",
    en="Behaves like the installation that a quirks file describes.",
)
@option(
    "--request-timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    pt="Encerra uma conexão parada por esse tempo no meio de uma operação.",
    en="Closes a connection that is idle for this long in the middle of a request.",
)
@schemas_option
def command(
    port: int,
    database: str | None,
    seed: str,
    scale: int,
    ready_file: Path | None,
    expose: str | None,
    host_names: tuple[str, ...],
    while_stdin_open: bool,
    faults: str | None,
    token_lifetime: float,
    strict: bool,
    quirks_file: Path | None,
    request_timeout: float,
) -> None:
    require_extra("sandbox")
    from xlbridge.resources import load_catalogue
    from xlbridge.resources.quirks_file import read_quirks
    from xlbridge.sandbox import ServeOptions, serve

    settings = read_settings()
    quirks = NO_QUIRKS
    if quirks_file is not None:
        quirks = read_quirks(quirks_file, load_catalogue(settings.schemas))
    behaviour = Behaviour(
        token_lifetime=timedelta(seconds=token_lifetime),
        request_timeout=timedelta(seconds=request_timeout),
        faults=parse_faults(faults or ""),
        host_names=host_names,
        strict=strict,
        quirks=quirks,
    )
    options = ServeOptions(
        port=port,
        database=database,
        seed=SeedKind(seed),
        scale=scale,
        ready_file=ready_file,
        expose=expose,
        while_stdin_open=while_stdin_open,
        behaviour=behaviour,
    )
    with ExitStack() as stack:
        starting = Text(pt="Iniciando o ambiente de testes", en="Starting the sandbox")
        activity = stack.enter_context(show_progress(starting))

        def announce(running: RunningSandbox) -> None:
            stack.close()
            _announce(ready_file, running, shows_password=settings.password is None)

        def show_seeding(done: int, total: int) -> None:
            filling = _FILLING.format(total=total)
            if done == 0:
                with activity.paused():
                    print_message(filling)
            activity.show(_FILLED.format(filling=filling, done=done))

        serve(options, settings, announce, show_seeding)


_FILLING = Text(
    pt="Preenchendo o banco de dados novo: {total} {total:pedido|pedidos} de venda",
    en="Filling the new database: {total} {total:sales order|sales orders}",
)
_FILLED = Text(pt="{filling}, {done} {done:gravado|gravados}", en="{filling}, {done} written")


def _announce(ready_file: Path | None, running: RunningSandbox, *, shows_password: bool) -> None:
    """Print how to use the sandbox; ``shows_password`` is false for a password of the user's."""
    message = Text(
        pt="Ambiente de testes em {url} (documentação: {url}/docs).",
        en="Sandbox on {url} (documentation: {url}/docs).",
    )
    print_message(message.format(url=running.base_url))
    if ready_file:
        # Printed credentials may end up in a log.
        message = Text(pt="Credenciais em {file}", en="Credentials in {file}")
        print_message(message.format(file=ready_file))
        return
    print_message(Text(pt="Para usá-lo, em outro terminal:", en="To use it, in another terminal:"))
    given = {"BASE_URL": running.base_url, "EMAIL": running.email}
    if shows_password:
        given["PASSWORD"] = running.password
    # The terminal of Windows is PowerShell.
    form = "$env:XLBRIDGE_{}='{}'" if os.name == "nt" else "export XLBRIDGE_{}={}"
    for name, value in given.items():
        print_message(form.format(name, value))
    if not shows_password:
        message = Text(
            pt="A senha é a de XLBRIDGE_PASSWORD.", en="The password is that of XLBRIDGE_PASSWORD."
        )
        print_message(message)
    print_message(form.format("PROFILE", EMBEDDED_NAME))
    if os.name == "nt":
        message = Text(
            pt="No Prompt de Comando, em vez de $env:NOME='valor': set NOME=valor",
            en="In the Command Prompt, instead of $env:NAME='value': set NAME=value",
        )
        print_message(message)


@described_command(
    "ui",
    pt="Abre a página no navegador: corrija os erros na própria planilha, envie-a, "
    "acompanhe o envio. Só este computador tem acesso.",
    en="Opens the page in the browser: fix errors in the sheet itself, send it, follow the "
    "upload. Only this computer has access.",
)
@_port_option
@option(
    "--no-browser",
    is_flag=True,
    pt="Só mostra o link.",
    en="Only shows the link.",
)
@option(
    "--ready-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    pt="Arquivo JSON com o link e o processo, gravado quando a página está pronta.",
    en="JSON file with the link and the process, written once the page is ready.",
)
def ui_command(port: int, no_browser: bool, ready_file: Path | None) -> None:
    require_extra("ui")
    with heavy_imports():
        from xlbridge.batch import prove_batch, run_batch
        from xlbridge.ui import PageOptions, serve_page

    options = PageOptions(port, not no_browser, ready_file)
    serve_page(options, settings_without_profile(), run_batch, prove_batch, _announce_page)


def _announce_page(link: str) -> None:
    print_message(Text(pt="A página está em {link}", en="The page is at {link}").format(link=link))
    print_message(
        Text(
            pt="O link vale uma vez. Para encerrar: Ctrl-C, ou Encerrar na página.",
            en="The link works once. To stop: Ctrl-C, or End in the page.",
        )
    )
