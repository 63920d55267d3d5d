"""Refusals of a file, with their messages."""

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


def damaged() -> WorkbookRefused:
    """Refusal: the archive or a part of it cannot be unpacked."""
    return WorkbookRefused(
        "truncated",
        Text(
            pt="O arquivo está incompleto ou danificado.",
            en="The file is incomplete or damaged.",
        ),
        _SAVE_AGAIN,
    )


def unreadable() -> WorkbookRefused:
    """Refusal: the parts are intact, but are not a workbook."""
    return WorkbookRefused(
        "unreadable",
        Text(
            pt="O conteúdo do arquivo não pôde ser lido.",
            en="The workbook's content cannot be read.",
        ),
        _SAVE_AGAIN,
    )


def not_editable(path: Path) -> WorkbookRefused:
    """Refusal: a part of a readable workbook is damaged, so that no changed copy can be made."""
    return WorkbookRefused(
        "unreadable",
        Text(
            pt="{path} pode ser conferido, mas não copiado com mudanças.",
            en="{path} can be checked, but not copied with changes.",
        ).format(path=path),
        _SAVE_AGAIN,
    )


def cell_ambiguous(sheet: str, cell: str, reason: Text) -> WorkbookRefused:
    """Refusal: programs read a cell as different values."""
    return WorkbookRefused(
        "unreadable",
        Text(
            pt="A célula {cell} da planilha {sheet!r} está gravada de um modo que cada programa lê "
            "de um jeito: {reason}.",
            en="The cell {cell} of the sheet {sheet!r} is written in a way that each program reads "
            "differently: {reason}.",
        ).format(cell=cell, sheet=sheet, reason=reason),
        _SAVE_AGAIN,
    )


def duration_too_long() -> WorkbookRefused:
    """Refusal: a number is too large for its format as a time span."""
    return WorkbookRefused(
        "unreadable",
        Text(
            pt="Uma célula com formato de horas tem um número grande demais para ser uma hora.",
            en="A cell that is shown as hours has a number too large to be a time.",
        ),
        Text(
            pt="No Excel, aplique a essas células o formato Geral ou Número.",
            en="In Excel, format such cells as General or Number.",
        ),
    )


def too_large(what: Text, limit: int) -> WorkbookRefused:
    """Refusal: ``what`` exceeds ``limit`` bytes."""
    return WorkbookRefused(
        "too-large",
        Text(
            pt="O arquivo é grande demais: {what} passa de {mb} MB.",
            en="The workbook is too large: {what} exceeds {mb} MB.",
        ).format(what=what, mb=limit // 2**20),
        _SPLIT,
    )


def text_too_long(sheet: str, limit: int) -> WorkbookRefused:
    """Refusal: a cell of ``sheet`` has more than ``limit`` characters."""
    return WorkbookRefused(
        "too-large",
        Text(
            pt="Uma célula da planilha {sheet!r} tem mais de {limit} caracteres, o máximo do "
            "Excel.",
            en="A cell of the sheet {sheet!r} has more than {limit} characters, Excel's limit.",
        ).format(sheet=sheet, limit=limit),
        Text(pt="Encurte o texto.", en="Shorten the text."),
    )


def hostile(what: Text) -> WorkbookRefused:
    """Refusal: the file has ``what``, which no program writes by itself."""
    return WorkbookRefused(
        "hostile",
        Text(
            pt="O arquivo foi recusado por segurança ({what}).",
            en="The file was refused for safety ({what}).",
        ).format(what=what),
        _COPY,
    )


def too_many_sheets() -> WorkbookRefused:
    """Refusal: the workbook has more sheets than parts are allowed."""
    return hostile(Text(pt="planilhas demais", en="too many sheets"))


def too_demanding() -> WorkbookRefused:
    """Refusal: reading exceeded the limits of memory or time, or killed the parser process."""
    return hostile(
        Text(
            pt="a leitura excedeu a memória ou o tempo permitidos",
            en="reading it exceeded the allowed memory or time",
        )
    )


def cells_too_far_apart() -> WorkbookRefused:
    """Refusal: the filled cells span too much of the sheet."""
    return hostile(Text(pt="células longe demais umas das outras", en="cells too far apart"))


_SAVE_AS = Text(
    pt="No Excel, use Salvar como > Pasta de Trabalho do Excel (.xlsx).",
    en="In Excel, use Save As > Excel Workbook (.xlsx).",
)


def empty_file() -> WorkbookRefused:
    """Refusal: the file has no bytes."""
    return WorkbookRefused(
        "not-xlsx", Text(pt="O arquivo está vazio.", en="The file is empty."), _SAVE_AS
    )


def web_page() -> WorkbookRefused:
    """Refusal: the file is an HTML page, which some programs write as a workbook."""
    return WorkbookRefused(
        "html",
        Text(
            pt="O arquivo é uma página HTML com nome de planilha.",
            en="The file is an HTML page named as a workbook.",
        ),
        _SAVE_AS,
    )


def no_workbook() -> WorkbookRefused:
    """Refusal: the file is of an unknown kind."""
    return WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo não é uma planilha .xlsx, .xlsm, .xlsb, .xls, .ods nem .csv.",
            en="The file is not an .xlsx, .xlsm, .xlsb, .xls, .ods or .csv workbook.",
        ),
        _SAVE_AS,
    )


def lock_file() -> WorkbookRefused:
    """Refusal: the file is the lock of a workbook that is open in Excel or LibreOffice."""
    return WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo não é uma planilha: o Excel ou o LibreOffice o cria enquanto uma "
            "planilha está aberta.",
            en="The file is not a workbook: Excel or LibreOffice creates it while a workbook is "
            "open.",
        ),
        Text(
            pt="Indique a própria planilha, sem ~$ ou .~lock. no começo do nome.",
            en="Name the workbook itself, without ~$ or .~lock. before its name.",
        ),
    )


def no_xlsx() -> WorkbookRefused:
    """Refusal: the file is a workbook, but not an .xlsx."""
    return WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo não é uma planilha .xlsx.",
            en="The file is not an .xlsx workbook.",
        ),
        _SAVE_AS,
    )


def text_with_other_name() -> WorkbookRefused:
    """Refusal: the file is text, but its extension is not that of a .csv."""
    return WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo não é uma planilha do Excel: é um texto.",
            en="The file is not an Excel workbook: it is text.",
        ),
        Text(
            pt="Se as colunas são separadas por um caractere, mude a extensão do nome para .csv.",
            en="If its columns are separated by a character, change the extension to .csv.",
        ),
    )


def other_archive() -> WorkbookRefused:
    """Refusal: the file is a zip archive of something else."""
    return WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo é um zip, mas não é uma planilha .xlsx.",
            en="The file is a zip archive, but not an .xlsx workbook.",
        ),
        _SAVE_AS,
    )


def other_ole_file() -> WorkbookRefused:
    """Refusal: the file is of an old Office format, but not a workbook of Excel 97 or later."""
    return WorkbookRefused(
        "legacy-xls",
        Text(
            pt="O arquivo é do Office antigo, mas não é uma planilha do Excel 97 ou mais novo "
            "(.xls).",
            en="The file is of an old Office format, but not a workbook of Excel 97 or later "
            "(.xls).",
        ),
        _SAVE_AS,
    )


def encrypted() -> WorkbookRefused:
    """Refusal: the workbook needs a password."""
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


def part_encrypted() -> WorkbookRefused:
    """Refusal: a part of the archive needs a password."""
    return WorkbookRefused(
        "encrypted",
        Text(pt="O arquivo está protegido por senha.", en="The file has a password."),
    )


def csv_unreadable(line: int, reason: Text, hint: Text) -> WorkbookRefused:
    """Refusal: a line of a .csv file cannot be read."""
    return WorkbookRefused(
        "unreadable",
        Text(
            pt="A linha {line} do .csv não pôde ser lida: {reason}.",
            en="Line {line} of the .csv file cannot be read: {reason}.",
        ).format(line=line, reason=reason),
        hint,
    )


def csv_unclear(message: Text, hint: Text) -> WorkbookRefused:
    """Refusal: a .csv file does not show its delimiter or encoding."""
    return WorkbookRefused("csv-unclear", message, hint)
