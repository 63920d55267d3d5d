"""``xlbridge upload``: validates a workbook, then sends it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from xlbridge.cli.desk import open_desk
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.importing import importing
from xlbridge.cli.options import how_to_read, how_to_send, in_parts, report_format, which_sheet
from xlbridge.cli.output import remark
from xlbridge.cli.progress import working
from xlbridge.cli.sending import Sending
from xlbridge.i18n import Text
from xlbridge.upload.plan import WantedMode, choose_mode
from xlbridge.validation.reading import DateOrder, NumberStyle, Reading
from xlbridge.workbook.atomic import require_apart

if TYPE_CHECKING:
    from xlbridge.validation.validate import ValidatedSheet


@click.command(
    "upload",
    help=str(Text(pt="Confere um arquivo e o envia.", en="Validates a workbook, sends it.")),
)
@click.argument("file", type=click.Path(readable=False, path_type=Path))
@click.option(
    "--mode",
    type=click.Choice(get_args(WantedMode)),
    default="auto",
    help=str(
        Text(
            pt="direct: de uma vez; preview: só prévia; queue: pela fila; auto escolhe.",
            en="direct: at once; preview: only that; queue: through the queue; auto chooses.",
        )
    ),
)
@click.option(
    "--again",
    metavar="REASON",
    help=str(
        Text(
            pt="Envia de novo linhas já enviadas; o motivo fica registrado.",
            en="Sends rows again that were sent already; the reason is recorded.",
        )
    ),
)
@in_parts
@which_sheet
@how_to_read
@how_to_send
@report_format
def command(
    file: Path,
    resource: str | None,
    sheet: str | None,
    mode: WantedMode,
    again: str | None,
    chunk_rows: int | None,
    dates: DateOrder | None,
    numbers: NumberStyle | None,
    **how: Any,
) -> ExitCode:
    sending = Sending(**how)
    require_apart([sending.annotate], [file])
    # What judges and sends takes most of a second to import.
    with importing():
        from xlbridge.cli.connection import connect
        from xlbridge.cli.upload_session import carry_out, refuse_sheet, require_lawful
        from xlbridge.upload.send import write_down
        from xlbridge.validation.validate import validate_workbook

    with open_desk() as desk:
        with working(Text(pt="Conferindo {f}", en="Checking {f}").format(f=file)):
            judged = validate_workbook(
                file,
                desk.catalogue,
                resource=resource,
                sheet=sheet,
                reading=Reading(dates=dates, numbers=numbers),
                limits=desk.settings.limits,
            )
        if not judged.ok or judged.resource is None:
            return refuse_sheet(judged, mode, sending.form)
        plan = choose_mode(judged.resource, mode)
        _mention_warnings(judged)
        with connect(desk.settings) as client:
            target = client.target
            require_lawful(target.production, sending, plan.mode)
            remark(
                _WHAT_GOES_WHERE.format(
                    resource=judged.resource.name,
                    profile=target.profile,
                    rows=len(judged.rows),
                    reason=plan.reason,
                )
            )
            job = write_down(
                desk,
                judged,
                judged.resource,
                plan,
                target.profile,
                again=again,
                chunk_rows=chunk_rows,
            )
            return carry_out(desk, client, job, sending)


_WHAT_GOES_WHERE = Text(
    pt="{resource} para {profile} · linhas: {rows} · {reason}",
    en="{resource} to {profile} · rows: {rows} · {reason}",
)


def _mention_warnings(judged: "ValidatedSheet") -> None:
    if judged.warnings:
        told = Text(
            pt="Avisos na planilha: {n}. Veja-os com: xlbridge validate {file}",
            en="Warnings in the sheet: {n}. See them with: xlbridge validate {file}",
        )
        remark(told.format(n=judged.warnings, file=judged.file))
