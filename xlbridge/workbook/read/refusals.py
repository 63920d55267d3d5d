"""Refusals of a file: what it is when it is no .xlsx, and the messages that its user reads."""

from xlbridge.errors import WorkbookRefused
from xlbridge.i18n import Text

_SAVE_AGAIN = Text(
    pt="Abra-o no Excel, salve de novo como .xlsx e tente outra vez.",
    en="Open it in Excel, save it again as .xlsx and try once more.",
)
_COPY = Text(
    pt="Copie os dados para um arquivo novo e salve como .xlsx.",
    en="Copy the data into a new workbook and save it as .xlsx.",
)
_SPLIT = Text(pt="Divida-a em arquivos menores.", en="Split it into smaller files.")


def damaged() -> WorkbookRefused:
    """The archive or a part of it cannot be unpacked."""
    return WorkbookRefused(
        "truncated",
        Text(
            pt="O arquivo está incompleto ou danificado.",
            en="The file is incomplete or damaged.",
        ),
        _SAVE_AGAIN,
    )


def unreadable() -> WorkbookRefused:
    """The parts are whole, and make no workbook."""
    return WorkbookRefused(
        "unreadable",
        Text(
            pt="O conteúdo do arquivo não pôde ser lido.",
            en="The workbook's content cannot be read.",
        ),
        _SAVE_AGAIN,
    )


def cell_irregular(sheet: str, cell: str, why: Text) -> WorkbookRefused:
    """A cell of ``sheet`` is written in a way that readers take for different values."""
    return WorkbookRefused(
        "unreadable",
        Text(
            pt="A célula {cell} da planilha {sheet!r} está gravada de um modo que cada programa lê "
            "de um jeito: {why}.",
            en="The cell {cell} of the sheet {sheet!r} is written in a way that each program reads "
            "differently: {why}.",
        ).format(cell=cell, sheet=sheet, why=why),
        _SAVE_AGAIN,
    )


def duration_too_long() -> WorkbookRefused:
    """A number that is shown as a time span is longer than any."""
    return WorkbookRefused(
        "unreadable",
        Text(
            pt="Uma célula com formato de horas tem um número grande demais para ser um tempo.",
            en="A cell that is shown as hours has a number too large to be a time.",
        ),
        Text(
            pt="No Excel, dê a essas células o formato Geral ou Número.",
            en="In Excel, give such cells the format General or Number.",
        ),
    )


def too_large(what: Text, limit: int) -> WorkbookRefused:
    """``what`` exceeds ``limit`` bytes."""
    return WorkbookRefused(
        "too-large",
        Text(
            pt="O arquivo é grande demais: {what} passa de {mb} MB.",
            en="The workbook is too large: {what} exceeds {mb} MB.",
        ).format(what=what, mb=limit // 2**20),
        _SPLIT,
    )


def text_too_long(sheet: str, limit: int) -> WorkbookRefused:
    """A cell of ``sheet`` holds more than ``limit`` characters."""
    return WorkbookRefused(
        "too-large",
        Text(
            pt="Uma célula da planilha {sheet!r} tem mais de {limit} caracteres, o máximo do "
            "Excel.",
            en="A cell of the sheet {sheet!r} has more than {limit} characters, Excel's own limit.",
        ).format(sheet=sheet, limit=limit),
        Text(pt="Encurte o texto.", en="Shorten the text."),
    )


def hostile(what: Text) -> WorkbookRefused:
    """The file has ``what`` no program writes by itself."""
    return WorkbookRefused(
        "hostile",
        Text(
            pt="O arquivo foi recusado por segurança ({what}).",
            en="The file was refused for safety ({what}).",
        ).format(what=what),
        _COPY,
    )


def too_demanding() -> WorkbookRefused:
    """Reading the file took more memory or time than is allowed, or ended the reading process."""
    return hostile(
        Text(
            pt="a leitura excedeu a memória ou o tempo permitidos",
            en="reading it exceeded the allowed memory or time",
        )
    )


def cells_too_far_apart() -> WorkbookRefused:
    """The filled cells span more of the sheet than is read."""
    return hostile(
        Text(pt="células longe demais umas das outras", en="cells too far from one another")
    )


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
        raise _ole_refusal(content)
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


def _ole_refusal(content: bytes) -> WorkbookRefused:
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
