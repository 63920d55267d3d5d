"""Rows of an uploaded workbook as they would be stored."""

from datetime import datetime

from pydantic import ValidationError
from sqlalchemy import Connection

from xlbridge.resources import Catalogue, Resource
from xlbridge.sandbox.imports.handlers import line_input, new_registration, read_upload
from xlbridge.sandbox.rehearsal.stored_rows import RowDigest, record_digest
from xlbridge.settings import WorkbookLimits


def expected_row_digests(
    connection: Connection,
    content: bytes,
    resource: Resource,
    catalogue: Catalogue,
    limits: WorkbookLimits,
) -> list[RowDigest | None]:
    """Return the digest of each line of an uploaded workbook as it would be stored.

    Lines that cannot be stored have None. Nothing is written.
    """
    # Digests leave out generated columns, so any time will do.
    registration = new_registration(resource, connection, datetime.now())
    lines = read_upload(content, resource, catalogue, limits)
    digests: list[RowDigest | None] = []
    for line in lines:
        try:
            record = registration.accept(line_input(line, resource))
        except ValidationError:
            digests.append(None)
            continue
        digests.append(record_digest(resource, record))
    return digests
