"""What a file really is, whatever its name says; only .xlsx passes."""

from xlbridge.errors import WorkbookRefused
from xlbridge.i18n import Text

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_ZIP = b"PK\x03\x04"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_MARKUP = (b"<!doctype html", b"<html", b"<table", b"<head", b"<meta")
_XLSX = b"spreadsheetml.sheet.main+xml"
_BINARY = b"sheet.binary.macroEnabled.main"
_OPEN_DOCUMENT = b"application/vnd.oasis.opendocument.spreadsheet"
_MACROS = b"sheet.macroEnabled.main+xml"

_SAVE_AS = Text(
    pt="No Excel, use Salvar como > Pasta de Trabalho do Excel (.xlsx).",
    en="In Excel, use Save As > Excel Workbook (.xlsx).",
)


def refuse_unless_zip(content: bytes) -> None:
    """Let pass what begins like a zip archive, as every .xlsx does.

    Raises ``WorkbookRefused`` with a message for each of the usual other things.
    """
    if content.startswith(_ZIP):
        return
    if not content:
        raise WorkbookRefused(
            "not-xlsx", Text(pt="O arquivo está vazio.", en="The file is empty."), _SAVE_AS
        )
    if content.startswith(_OLE):
        raise _ole(content)
    if content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_MARKUP):
        raise WorkbookRefused(
            "html",
            Text(
                pt="O arquivo é uma página HTML com nome de planilha.",
                en="The file is an HTML page named as a workbook.",
            ),
            _SAVE_AS,
        )
    raise WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo não é uma planilha .xlsx.",
            en="The file is not an .xlsx workbook.",
        ),
        _SAVE_AS,
    )


def part_encrypted() -> WorkbookRefused:
    """A part of the archive itself needs a password."""
    return WorkbookRefused(
        "encrypted",
        Text(pt="O arquivo está protegido por senha.", en="The file has a password."),
    )


def _ole(content: bytes) -> WorkbookRefused:
    if _ENCRYPTED_STREAM in content:
        return WorkbookRefused(
            "encrypted",
            Text(
                pt="O arquivo está protegido por senha.",
                en="The workbook is protected by a password.",
            ),
            Text(
                pt="No Excel, retire a senha (Arquivo > Informações > Proteger) e salve.",
                en="In Excel, remove the password (File > Info > Protect) and save.",
            ),
        )
    return WorkbookRefused(
        "legacy-xls",
        Text(
            pt="O arquivo está no formato antigo do Excel (.xls).",
            en="The file is in Excel's old format (.xls).",
        ),
        _SAVE_AS,
    )


def refuse_unless_workbook(content_types: bytes, open_document: bytes = b"") -> None:
    """Let pass a package whose main part is an .xlsx workbook.

    ``content_types`` is the part ``[Content_Types].xml``, ``open_document`` the part ``mimetype``
    that other packages have instead. Raises ``WorkbookRefused``.
    """
    if open_document.startswith(_OPEN_DOCUMENT):
        raise WorkbookRefused(
            "not-xlsx",
            Text(
                pt="O arquivo é uma planilha OpenDocument (.ods); só .xlsx é aceita.",
                en="The file is an OpenDocument spreadsheet (.ods); only .xlsx is accepted.",
            ),
            Text(
                pt="No LibreOffice ou no Excel, use Salvar como e escolha Excel (.xlsx).",
                en="In LibreOffice or Excel, use Save As and choose Excel (.xlsx).",
            ),
        )
    for mark, told in _OTHER_WORKBOOKS:
        if mark in content_types:
            raise WorkbookRefused("not-xlsx", told, _SAVE_AS)
    if _XLSX not in content_types:
        raise WorkbookRefused("not-xlsx", _OTHER_ARCHIVE, _SAVE_AS)


_OTHER_WORKBOOKS = (
    (
        _BINARY,
        Text(
            pt="O arquivo está no formato binário (.xlsb); só .xlsx é aceito.",
            en="The workbook is in the binary format (.xlsb); only .xlsx is accepted.",
        ),
    ),
    (
        _MACROS,
        Text(
            pt="O arquivo tem macros (.xlsm); só .xlsx é aceito.",
            en="The workbook holds macros (.xlsm); only .xlsx is accepted.",
        ),
    ),
)
_OTHER_ARCHIVE = Text(
    pt="O arquivo é um zip, mas não é uma planilha .xlsx.",
    en="The file is a zip archive, but not an .xlsx workbook.",
)
