"""Exports through the room's public names."""

from pathlib import Path
from typing import Any

from xlbridge.client import Client
from xlbridge.export import ExportRequest, ExportResult, Filters, OutputFile
from xlbridge.resources import load_catalogue
from xlbridge.settings import Headers


def export(
    client: Client,
    listing: str,
    output: Path,
    filters: Filters | None = None,
    *,
    headers: Headers = "names",
    run: dict[str, Any] | None = None,
    **request: Any,
) -> ExportResult:
    """Export a listing into a file; ``request`` and ``run`` are the arguments of the two steps."""
    prepared = ExportRequest(listing=listing, filters=filters or Filters(), **request)
    file = OutputFile(output, headers=headers)
    return prepared.prepare(file, load_catalogue).run(client, **run or {})
