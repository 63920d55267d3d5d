"""Cases that still change in silence, by reason: each is to be mended, and then taken out here."""

from collections.abc import Mapping, Sequence

KNOWN_SILENT: Mapping[str, Sequence[str]] = {
    "Two spellings of one code.": (
        "cell: idws: CLI-1 and cli-1",
        "cell: seuCodigo: CLI-1 and cli-1",
    ),
    "A number that its format shows as something else.": (
        "cell: dataDeVencimento: 46327 as hh:mm",
    ),
    "A text that stands for nothing.": (
        "cell: historico: 'NaT'",
        "cell: historico: '(vazio)'",
    ),
    "A row that is no record.": (
        "structure: a client row Qtde",
        "structure: a total with all cells filled",
        "structure: a line of dashes",
    ),
    "A row that is struck through, or too low to be seen.": (
        "structure: a row of a hair's height",
        "structure: a struck-through row",
    ),
}
"""Names of cases by what is wrong."""
