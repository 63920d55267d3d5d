"""Why a file is refused, in the words that its user reads."""

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


def no_such_time() -> WorkbookRefused:
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


def cells_too_far() -> WorkbookRefused:
    """The filled cells span more of the sheet than is read."""
    return hostile(
        Text(pt="células longe demais umas das outras", en="cells too far from one another")
    )
