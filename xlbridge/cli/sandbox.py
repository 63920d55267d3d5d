"""``xlbridge sandbox``: runs the practice system on this computer."""

import os
from datetime import timedelta
from functools import partial
from pathlib import Path

import click

from xlbridge.cli.output import remark
from xlbridge.i18n import Text
from xlbridge.sandbox.running import RunningSandbox
from xlbridge.sandbox.seed import Seed
from xlbridge.sandbox.serve import Plan, serve
from xlbridge.sandbox.server import Behaviour
from xlbridge.settings import read_settings

_SECONDS = click.FloatRange(min=0)


@click.command(
    "sandbox",
    help=str(
        Text(
            pt="Roda o sistema de ensaio neste computador, até ser interrompido.",
            en="Runs the practice system on this computer, until it is interrupted.",
        )
    ),
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="P")
@click.option("--db", "database", metavar="URL")
@click.option("--seed", type=click.Choice([kind.value for kind in Seed]), default=Seed.DEMO.value)
@click.option("--scale", type=click.IntRange(min=1), default=1, metavar="N")
@click.option("--ready-file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--expose", metavar="ADDRESS")
@click.option("--while-stdin-open", is_flag=True)
@click.option("--slow-queue", type=_SECONDS, default=0.0, metavar="SECONDS")
@click.option("--token-lifetime", type=_SECONDS, default=3600.0, metavar="SECONDS")
def command(
    port: int,
    database: str | None,
    seed: str,
    scale: int,
    ready_file: Path | None,
    expose: str | None,
    while_stdin_open: bool,
    slow_queue: float,
    token_lifetime: float,
) -> None:
    behaviour = Behaviour(timedelta(seconds=token_lifetime), slow_queue)
    plan = Plan(
        port=port,
        database=database,
        seed=Seed(seed),
        scale=scale,
        ready_file=ready_file,
        expose=expose,
        while_stdin_open=while_stdin_open,
        behaviour=behaviour,
    )
    serve(plan, read_settings(), partial(_announce, ready_file))


def _announce(ready_file: Path | None, running: RunningSandbox) -> None:
    told = Text(
        pt="Sistema de ensaio em {url} (documentação: {url}/docs).",
        en="Sandbox on {url} (documentation: {url}/docs).",
    )
    remark(told.format(url=running.base_url))
    if ready_file:
        # Its reader has the credentials from there; what is printed may end in a log.
        told = Text(pt="Credenciais em {file}", en="Credentials in {file}")
        remark(told.format(file=ready_file))
        return
    remark(Text(pt="Para usá-lo, noutro terminal:", en="To use it, in another terminal:"))
    setting = "set" if os.name == "nt" else "export"
    remark(f"{setting} XLBRIDGE_BASE_URL={running.base_url}")
    remark(f"{setting} XLBRIDGE_EMAIL={running.email}")
    remark(f"{setting} XLBRIDGE_PASSWORD={running.password}")
