"""Refusals of a file: what it is when it is no workbook, and the messages that its user reads."""

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
            pt="Uma célula com formato de horas tem um número grande demais para ser uma hora.",
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


def too_many_sheets() -> WorkbookRefused:
    """The workbook has more sheets than parts are allowed."""
    return hostile(Text(pt="planilhas demais", en="too many sheets"))


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


_SAVE_AS = Text(
    pt="No Excel, use Salvar como > Pasta de Trabalho do Excel (.xlsx).",
    en="In Excel, use Save As > Excel Workbook (.xlsx).",
)


def empty_file() -> WorkbookRefused:
    """The file has no bytes."""
    return WorkbookRefused(
        "not-xlsx", Text(pt="O arquivo está vazio.", en="The file is empty."), _SAVE_AS
    )


def web_page() -> WorkbookRefused:
    """The file is an HTML page, as some programs write in place of a workbook."""
    return WorkbookRefused(
        "html",
        Text(
            pt="O arquivo é uma página HTML com nome de planilha.",
            en="The file is an HTML page named as a workbook.",
        ),
        _SAVE_AS,
    )


def no_workbook() -> WorkbookRefused:
    """The file is of no kind that is read."""
    return WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo não é uma planilha .xlsx, .xlsm, .xlsb, .xls, .ods nem .csv.",
            en="The file is not an .xlsx, .xlsm, .xlsb, .xls, .ods or .csv workbook.",
        ),
        _SAVE_AS,
    )


def lock_file() -> WorkbookRefused:
    """The file is what Excel or LibreOffice leaves beside a workbook while it is open there."""
    return WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo não é uma planilha: o Excel ou o LibreOffice o deixa ao lado da que está "
            "aberta.",
            en="The file is not a workbook: Excel or LibreOffice leaves it beside one that is "
            "open.",
        ),
        Text(
            pt="Indique a própria planilha, sem ~$ ou .~lock. no começo do nome.",
            en="Name the workbook itself, without ~$ or .~lock. before its name.",
        ),
    )


def no_xlsx() -> WorkbookRefused:
    """The file is a workbook of another kind where only .xlsx is taken."""
    return WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo não é uma planilha .xlsx.",
            en="The file is not an .xlsx workbook.",
        ),
        _SAVE_AS,
    )


def text_with_other_name() -> WorkbookRefused:
    """The file is a text, and its name does not say that it is a .csv."""
    return WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo não é uma planilha do Excel: é um texto.",
            en="The file is not an Excel workbook: it is a text.",
        ),
        Text(
            pt="Se são colunas separadas por um sinal, dê a ele um nome que termine em .csv.",
            en="If it has columns separated by a sign, give it a name that ends in .csv.",
        ),
    )


def other_archive() -> WorkbookRefused:
    """The file is a zip archive of something else."""
    return WorkbookRefused(
        "not-xlsx",
        Text(
            pt="O arquivo é um zip, mas não é uma planilha .xlsx.",
            en="The file is a zip archive, but not an .xlsx workbook.",
        ),
        _SAVE_AS,
    )


def other_ole_file() -> WorkbookRefused:
    """The file is of the old Office formats, and no workbook of Excel 97 or later."""
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
    """The workbook cannot be read without its password."""
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
    """A part of the archive itself needs a password."""
    return WorkbookRefused(
        "encrypted",
        Text(pt="O arquivo está protegido por senha.", en="The file has a password."),
    )


def csv_unreadable(line: int, why: Text, hint: Text) -> WorkbookRefused:
    """A line of a .csv file cannot be read."""
    return WorkbookRefused(
        "unreadable",
        Text(
            pt="A linha {line} do .csv não pôde ser lida: {why}.",
            en="Line {line} of the .csv file cannot be read: {why}.",
        ).format(line=line, why=why),
        hint,
    )


def csv_unclear(what: Text, hint: Text) -> WorkbookRefused:
    """A .csv file does not show how it is written."""
    return WorkbookRefused("csv-unclear", what, hint)
