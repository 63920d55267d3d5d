"""``xlbridge ui``: the page in a browser of this computer."""

import importlib.util
from pathlib import Path

import click

from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.lifecycle import heavy_imports
from xlbridge.cli.options import described_command, option, port_option
from xlbridge.cli.output import remark
from xlbridge.errors import ConfigError
from xlbridge.i18n import Text

_NEEDED = ("starlette", "uvicorn")


@described_command(
    "ui",
    pt="Abre a página no navegador: corrigir a planilha onde está o erro, enviar, "
    "acompanhar. Só este computador a alcança.",
    en="Opens the page in the browser: correct the sheet where the error stands, send it, "
    "follow it. Only this computer can reach it.",
)
@port_option
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
    pt="Arquivo JSON, gravado inteiro quando a página atende: o link e o processo.",
    en="JSON file, written whole once the page answers: the link and the process.",
)
def command(port: int, no_browser: bool, ready_file: Path | None) -> None:
    if not all(map(importlib.util.find_spec, _NEEDED)):
        raise ConfigError(
            Text(pt="A página não está instalada.", en="The page is not installed."),
            Text(
                pt='Instale-a: pip install "xlbridge[ui]"',
                en='Install it: pip install "xlbridge[ui]"',
            ),
        )
    with heavy_imports():
        from xlbridge.batch import run_batch
        from xlbridge.ui import PageOptions, serve_page

    options = PageOptions(port, not no_browser, ready_file)
    serve_page(options, settings_without_profile(), run_batch, _announce)


def _announce(link: str) -> None:
    remark(Text(pt="A página está em {link}", en="The page is at {link}").format(link=link))
    remark(
        Text(
            pt="O link vale uma vez. Para encerrar: Ctrl-C, ou Encerrar na página.",
            en="The link works once. To end it: Ctrl-C, or End in the page.",
        )
    )
