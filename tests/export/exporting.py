"""Exports through the room's face."""

from pathlib import Path
from typing import Any

from xlbridge.client import Client
from xlbridge.export import ExportRequest, ExportResult, Filters, OutputFile
from xlbridge.resources import load_catalogue


def export(
    client: Client,
    listing: str,
    output: Path,
    filters: Filters | None = None,
    *,
    run: dict[str, Any] | None = None,
    **asked: Any,
) -> ExportResult:
    """Write a listing into a file; ``asked`` and ``run`` are the arguments of both steps."""
    request = ExportRequest(listing=listing, filters=filters or Filters(), **asked)
    return request.prepare(OutputFile(output), load_catalogue).run(client, **run or {})
