"""Refusals of a file, with their messages."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

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
_SPLIT = Text(pt="Divida-o em arquivos menores.", en="Split it into smaller files.")
_SAVE_AS = Text(
    pt="No Excel, use Salvar como > Pasta de Trabalho do Excel (.xlsx).",
    en="In Excel, use Save As > Excel Workbook (.xlsx).",
)


def _refusal(code: str, *, pt: str, en: str, hint: Text) -> Callable[[], WorkbookRefused]:
    """Return a function that creates a refusal without details."""
    return partial(WorkbookRefused, code, Text(pt=pt, en=en), hint)


_not_a_workbook = partial(_refusal, "not-xlsx", hint=_SAVE_AS)


damaged = _refusal(
    "truncated",
    pt="O arquivo está incompleto ou danificado.",
    en="The file is incomplete or damaged.",
    hint=_SAVE_AGAIN,
)
# The parts are intact, but are not a workbook.
unreadable = _refusal(
    "unreadable",
    pt="O conteúdo do arquivo não pôde ser lido.",
    en="The workbook's content cannot be read.",
    hint=_SAVE_AGAIN,
)
duration_too_long = _refusal(
    "unreadable",
    pt="Uma célula com formato de horas tem um número grande demais para ser uma hora.",
    en="A cell that is shown as hours has a number too large to be a time.",
    hint=Text(
        pt="No Excel, aplique a essas células o formato Geral ou Número.",
        en="In Excel, format such cells as General or Number.",
    ),
)
empty_file = _not_a_workbook(pt="O arquivo está vazio.", en="The file is empty.")
# Some programs write an HTML page as a workbook.
web_page = _refusal(
    "html",
    pt="O arquivo é uma página HTML com nome de planilha.",
    en="The file is an HTML page named as a workbook.",
    hint=_SAVE_AS,
)
# Excel or LibreOffice open these as workbooks, the parser does not.
xml_spreadsheet = _refusal(
    "not-xlsx",
    pt="O arquivo é uma Planilha XML 2003, que só o Excel abre.",
    en="The file is an XML Spreadsheet 2003, which only Excel opens.",
    hint=_SAVE_AS,
)
flat_open_document = _refusal(
    "not-xlsx",
    pt="O arquivo é uma planilha OpenDocument em um só XML (.fods).",
    en="The file is an OpenDocument spreadsheet in a single XML (.fods).",
    hint=Text(
        pt="No LibreOffice, use Salvar como > Excel 2007-365 (.xlsx) ou Planilha ODF (.ods).",
        en="In LibreOffice, use Save As > Excel 2007-365 (.xlsx) or ODF Spreadsheet (.ods).",
    ),
)
other_text_format = _not_a_workbook(
    pt="O arquivo é um texto de outro formato (XML, JSON, RTF, SYLK ou DIF), não uma planilha "
    "do Excel.",
    en="The file is text in another format (XML, JSON, RTF, SYLK or DIF), not an Excel workbook.",
)
no_workbook = _not_a_workbook(
    pt="O arquivo não é uma planilha .xlsx, .xlsm, .xlsb, .xls, .ods nem .csv.",
    en="The file is not an .xlsx, .xlsm, .xlsb, .xls, .ods or .csv workbook.",
)
lock_file = _refusal(
    "not-xlsx",
    pt="O arquivo não é uma planilha: o Excel ou o LibreOffice o cria enquanto uma planilha "
    "está aberta.",
    en="The file is not a workbook: Excel or LibreOffice creates it while a workbook is open.",
    hint=Text(
        pt="Indique a própria planilha, sem ~$ ou .~lock. no começo do nome.",
        en="Name the workbook itself, without ~$ or .~lock. before its name.",
    ),
)
# A workbook, but of another kind.
no_xlsx = _not_a_workbook(
    pt="O arquivo não é uma planilha .xlsx.", en="The file is not an .xlsx workbook."
)
text_with_other_name = _refusal(
    "not-xlsx",
    pt="O arquivo não é uma planilha do Excel: é um texto.",
    en="The file is not an Excel workbook: it is text.",
    hint=Text(
        pt="Se as colunas são separadas por um caractere, mude a extensão do nome para .csv.",
        en="If its columns are separated by a character, change the extension to .csv.",
    ),
)
other_archive = _not_a_workbook(
    pt="O arquivo é um zip, mas não é uma planilha .xlsx.",
    en="The file is a zip archive, but not an .xlsx workbook.",
)
other_ole_file = _refusal(
    "legacy-xls",
    pt="O arquivo é do Office antigo, mas não é uma planilha do Excel 97 ou mais novo (.xls).",
    en="The file is of an old Office format, but not a workbook of Excel 97 or later (.xls).",
    hint=_SAVE_AS,
)
encrypted = _refusal(
    "encrypted",
    pt="O arquivo está protegido por senha.",
    en="The file is protected by a password.",
    hint=Text(
        pt="Abra-o, retire a senha (no Excel: Arquivo > Informações > Proteger) e salve de novo.",
        en="Open it, remove the password (in Excel: File > Info > Protect) and save it again.",
    ),
)


def hostile(what: Text) -> WorkbookRefused:
    """Refusal: the file has ``what``, which no program writes by itself."""
    message = Text(
        pt="O arquivo foi recusado por segurança ({what}).",
        en="The file was refused for safety ({what}).",
    )
    return WorkbookRefused("hostile", message.format(what=what), _COPY)


document_type = partial(hostile, Text(pt="definições DTD", en="DTD definitions"))
too_many_sheets = partial(hostile, Text(pt="planilhas demais", en="too many sheets"))
# Reading exceeded the limits, or killed the parser process.
too_demanding = partial(
    hostile,
    Text(
        pt="a leitura excedeu a memória ou o tempo permitidos",
        en="reading it exceeded the allowed memory or time",
    ),
)


def not_editable(path: Path) -> WorkbookRefused:
    """Refusal: a part of a readable workbook is damaged, so that no changed copy can be made."""
    message = Text(
        pt="{path} pode ser conferido, mas não copiado com mudanças.",
        en="{path} can be checked, but not copied with changes.",
    )
    return WorkbookRefused("unreadable", message.format(path=path), _SAVE_AGAIN)


def cell_ambiguous(sheet: str, cell: str, reason: Text) -> WorkbookRefused:
    """Refusal: programs read a cell as different values."""
    message = Text(
        pt="A célula {cell} da planilha {sheet!r} está gravada de um modo que cada programa lê de "
        "um jeito: {reason}.",
        en="The cell {cell} of the sheet {sheet!r} is written in a way that each program reads "
        "differently: {reason}.",
    )
    details = message.format(cell=cell, sheet=sheet, reason=reason)
    return WorkbookRefused("unreadable", details, _SAVE_AGAIN)


def cells_too_far_apart(sheet: str, lowest: str, rightmost: str) -> WorkbookRefused:
    """Refusal: the filled cells of a sheet span too many cells."""
    message = Text(
        pt="As células da planilha {sheet!r} ficam longe demais umas das outras: as últimas são "
        "{cells}.",
        en="The cells of the sheet {sheet!r} are too far apart: the last ones are {cells}.",
    )
    if lowest == rightmost:
        message = Text(
            pt="A célula {cells} da planilha {sheet!r} fica longe demais das outras.",
            en="The cell {cells} of the sheet {sheet!r} is too far from the others.",
        )
    hint = Text(
        pt="Se ela não é parte dos dados, exclua a linha ou a coluna dela no Excel e salve.",
        en="If it is no part of the data, delete its row or column in Excel and save.",
    )
    cells = ", ".join(dict.fromkeys((lowest, rightmost)))
    return WorkbookRefused("hostile", message.format(sheet=sheet, cells=cells), hint)


def too_large(what: Text, limit: int) -> WorkbookRefused:
    """Refusal: ``what`` exceeds ``limit`` bytes."""
    message = Text(
        pt="O arquivo é grande demais: {what} passa de {mb} MB.",
        en="The workbook is too large: {what} exceeds {mb} MB.",
    )
    return WorkbookRefused("too-large", message.format(what=what, mb=limit // 2**20), _SPLIT)


def text_too_long(sheet: str, limit: int) -> WorkbookRefused:
    """Refusal: a cell of ``sheet`` has more than ``limit`` characters."""
    message = Text(
        pt="Uma célula da planilha {sheet!r} tem mais de {limit} caracteres, o máximo do Excel.",
        en="A cell of the sheet {sheet!r} has more than {limit} characters, Excel's limit.",
    )
    hint = Text(pt="Encurte o texto.", en="Shorten the text.")
    return WorkbookRefused("too-large", message.format(sheet=sheet, limit=limit), hint)


def csv_unreadable(line: int, reason: Text, hint: Text) -> WorkbookRefused:
    """Refusal: a line of a .csv file cannot be read."""
    message = Text(
        pt="A linha {line} do .csv não pôde ser lida: {reason}.",
        en="Line {line} of the .csv file cannot be read: {reason}.",
    )
    return WorkbookRefused("unreadable", message.format(line=line, reason=reason), hint)
