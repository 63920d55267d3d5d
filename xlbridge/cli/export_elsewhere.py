"""``xlbridge export --scheduler``: a worker of a cluster fetches, and the files come back."""

from pathlib import Path

from xlbridge.cli.spread import cluster_of
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.export.result import ExportResult
from xlbridge.i18n import Text
from xlbridge.settings import Settings
from xlbridge.spreading.exports import ExportToDo, export_all


def require_no_downloads(scheduler: str | None, attachments: Path | None) -> None:
    """Raise ``UsageError`` where attached files are wanted of a cluster: they are kept here."""
    if scheduler is not None and attachments is not None:
        raise UsageError(
            Text(
                pt="--attachments e --scheduler se excluem.",
                en="--attachments and --scheduler exclude one another.",
            )
        )


def export_elsewhere(scheduler: str, export: ExportToDo, settings: Settings) -> ExportResult:
    """Let a worker of a cluster do an export. Raises what the export raised there.

    Raises ``ConfigError`` when the extra ``dask`` is not installed, ``TransportError`` when the
    cluster does not answer.
    """
    with cluster_of(scheduler) as carrier:
        (came,) = export_all([export], settings.schemas, carrier)
    if isinstance(came, XlbridgeError):
        raise came
    return came
