"""``xlbridge ui``: the page in a browser of this computer."""

from pathlib import Path

import click

from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.lifecycle import heavy_imports
from xlbridge.cli.options import described_command, option, port_option
from xlbridge.cli.output import print_message
from xlbridge.extras import require_extra
from xlbridge.i18n import Text


@described_command(
    "ui",
    pt="Abre a página no navegador: corrija os erros na própria planilha, envie-a, "
    "acompanhe o envio. Só este computador tem acesso.",
    en="Opens the page in the browser: fix errors in the sheet itself, send it, follow the "
    "upload. Only this computer has access.",
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
    pt="Arquivo JSON com o link e o processo, gravado quando a página está pronta.",
    en="JSON file with the link and the process, written once the page is ready.",
)
def command(port: int, no_browser: bool, ready_file: Path | None) -> None:
    require_extra("ui")
    with heavy_imports():
        from xlbridge.batch import prove_batch, run_batch
        from xlbridge.ui import PageOptions, serve_page

    options = PageOptions(port, not no_browser, ready_file)
    serve_page(options, settings_without_profile(), run_batch, prove_batch, _announce)


def _announce(link: str) -> None:
    print_message(Text(pt="A página está em {link}", en="The page is at {link}").format(link=link))
    print_message(
        Text(
            pt="O link vale uma vez. Para encerrar: Ctrl-C, ou Encerrar na página.",
            en="The link works once. To stop: Ctrl-C, or End in the page.",
        )
    )
