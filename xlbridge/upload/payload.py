"""Payload: a clean workbook made of the validated rows, stored by its content hash.

The analyst's own file is never sent: macros, links, hidden sheets and differences between parsers
stay behind.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from xlbridge.errors import LocalFailure
from xlbridge.files import make_private_folder
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Resource
from xlbridge.settings import WorkbookLimits
from xlbridge.upload.child_rows import child_rows, join_lists, list_text
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.row_lookup import RowValues, column_values, rows_of
from xlbridge.validation import ParseOptions, match_header, type_rows
from xlbridge.workbook.read import read_workbook
from xlbridge.workbook.write import write_records

_AS_JSON = json.JSONEncoder().encode


def row_digests(resource: Resource, frame: pd.DataFrame) -> list[str]:
    """Return a digest of each row's values, whatever the file, its styles and its layout."""
    names = sorted(name for name in frame.columns if name != KEY)
    named = [_named_values(name, frame[name]) for name in names]
    opening = f"[{json.dumps(resource.name)}"
    return [
        hashlib.blake2b(f"{opening}{''.join(row)}]".encode(), digest_size=16).hexdigest()
        for row in zip(*named, strict=True)
    ]


def _named_values(name: str, column: pd.Series) -> list[str]:
    """Return each value of a column as an item of a JSON list, nothing for an empty cell."""
    texts = [None if cell is None else _text(cell) for cell in column_values(column)]
    opening = f", [{json.dumps(name)}, "
    return ["" if text is None else f"{opening}{_AS_JSON(text)}]" for text in texts]


def _text(cell: object) -> str:
    return list_text(cell) if isinstance(cell, list) else str(cell)


def sheet_digest(rows: Sequence[str]) -> str:
    """Return the digest of all rows, in whatever order they stand."""
    return hashlib.sha256("".join(sorted(rows)).encode()).hexdigest()


def frame_of_rows(resource: Resource, rows: Sequence[RowValues]) -> pd.DataFrame:
    """Return the typed frame of rows."""
    columns = {c.name: [row.get(c.name) for row in rows] for c in resource.columns}
    frame = pd.DataFrame(columns).astype({c.name: c.dtype for c in resource.columns})
    lists = {
        child.sheet: pd.Series([row.get(child.sheet) for row in rows], dtype=object)
        for child in resource.children
        if any(row.get(child.sheet) for row in rows)
    }
    return frame.assign(**lists) if lists else frame


def store_payload(folder: Path, resource: Resource, frame: pd.DataFrame) -> str:
    """Write the payload to ``folder``, safely on the disk, and return its content hash."""
    make_private_folder(folder)
    temporary = folder / f".{secrets.token_hex(8)}.tmp"
    try:
        children = {one.resource.sheet: one.frame for one in child_rows(resource, frame)}
        write_records(temporary, resource, frame, children)
        content = hashlib.sha256(temporary.read_bytes()).hexdigest()
        temporary.chmod(0o600)
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(payload_path(folder, content))
    finally:
        temporary.unlink(missing_ok=True)
    return content


def load_payload(folder: Path, content: str) -> bytes:
    """Return a stored payload. Raises ``LocalFailure`` when it is gone or no longer the same."""
    path = payload_path(folder, content)
    payload = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(payload).hexdigest() != content:
        raise LocalFailure(
            Text(
                pt="O arquivo guardado deste envio sumiu ou mudou: {path}",
                en="The stored file of this upload is gone or has changed: {path}",
            ).format(path=path)
        )
    return payload


def sent_frame(context: UploadContext, job: Job) -> pd.DataFrame:
    """Return the typed rows of a job as they are sent, read from its stored payload.

    Raises ``LocalFailure`` when the payload is gone or no longer the same.
    """
    return frame_of_payload(context, context.catalogue.named(job.what.resource), job.what.payload)


def frame_of_payload(context: UploadContext, resource: Resource, content: str) -> pd.DataFrame:
    """Return the typed rows of a stored payload. Raises as ``load_payload`` does."""
    load_payload(context.settings.payloads, content)
    path = payload_path(context.settings.payloads, content)
    sheets = read_workbook(path, WorkbookLimits()).sheets
    cells = {one.name: one for one in sheets}
    frame, *lists = (
        type_rows(
            one, match_header(cells[one.sheet], 0, one), cells[one.sheet], ParseOptions()
        ).frame
        for one in (resource, *resource.children)
        if one.sheet in cells
    )
    names = (child.sheet for child in resource.children if child.sheet in cells)
    return join_lists(frame, dict(zip(names, lists, strict=True))) if lists else frame


def sent_rows(context: UploadContext, job: Job) -> list[RowValues]:
    """Return the rows of a job as they are sent, in order."""
    return rows_of(sent_frame(context, job))


def planned_rows(context: UploadContext, job: Job) -> list[RowValues]:
    """Return all rows of a job's sheet, in order, those that are not sent too."""
    resource = context.catalogue.named(job.what.resource)
    return rows_of(frame_of_payload(context, resource, job.what.planned or job.what.payload))


def file_hash(path: Path) -> str:
    """Return the hash of an analyst's file, by which it is recognised later."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def payload_path(folder: Path, content: str) -> Path:
    """Return where the payload of that content hash is stored."""
    return folder / f"{content}.xlsx"
