"""The workbook of a multipart form. Source: the spec, Authentication and utilities, Limits."""

import re

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from xlbridge.sandbox.answers import RequestError, invalid
from xlbridge.sandbox.call import UploadedFile
from xlbridge.sandbox.limits import is_writable
from xlbridge.wire.imports import UPLOAD_FIELD

_EXTENSION = ".xlsx"
_LONGEST_NAME = 255
_SEPARATORS = re.compile(r"[/\\]")


async def uploaded_workbook(request: Request) -> UploadedFile:
    """Read the workbook of a form.

    Raises ``RequestError`` (400) when there is none, or its name is not that of an .xlsx.
    """
    try:
        async with request.form(max_files=1, max_fields=10) as form:
            file = form.get(UPLOAD_FIELD)
            if not isinstance(file, UploadFile):
                raise _refused("O arquivo Excel não foi informado.")
            return UploadedFile(_name(file.filename or ""), await file.read())
    # An encoding that the form's header makes up ends in other errors than a broken form.
    except (HTTPException, ValueError) as error:
        raise _refused("O formulário multipart não pôde ser lido.") from error


def _name(filename: str) -> str:
    """The file's own name, without the folders that some callers send along."""
    name = _SEPARATORS.split(filename)[-1]
    if not name.lower().endswith(_EXTENSION):
        raise _refused("O arquivo deve ser .xlsx.")
    if not is_writable(name) or len(name) > _LONGEST_NAME:
        raise _refused("O nome do arquivo não é permitido.")
    return name


def _refused(message: str) -> RequestError:
    return invalid((UPLOAD_FIELD, message))
