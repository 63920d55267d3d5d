"""Signatures of the workbooks that xlbridge writes: properties, sheet names, added columns.

The parser process imports this module: it must stay light.
"""

from collections.abc import Iterable, Mapping

from xlbridge.i18n import Text

TEMPLATE_PROPERTY = "xlbridge-template"
"""The custom document property that holds the resource's fingerprint."""

EXPORT_PROPERTY = "xlbridge-export"
"""The custom document property that holds the name of the exported listing."""

PROOF_PROPERTY = "xlbridge-proof"
"""The custom document property that holds the digest of the plan of a batch that is proven."""

INSTRUCTIONS_SHEET = "Instruções"
"""The sheet of a template with the instructions; never data."""

LISTS_SHEET = "Listas"
"""The hidden sheet of a template that its dropdowns read; never data."""

REGISTRIES_SHEET = "Cadastros"
"""The sheet of a template with the records of registries that its dropdowns offer; never data."""

REGISTRIES_TITLE = "Cadastros do sistema: "
"""Beginning of the first cell of that sheet."""

SUMMARY_SHEET = "xlbridge"
"""The sheet that lists the findings in an annotated workbook; never data."""

SUMMARY_NAME = "xlbridge.summary"
"""The hidden name, local to that sheet, that it is known by whatever it is called."""

COVER_SHEET = Text(pt="Exportação", en="Export cover")
"""The first sheet of an export: what was asked for, counts, control totals; never data."""

INSTRUCTIONS_TITLE = "Modelo de importação: "
"""Beginning of the first cell of the instructions."""

SUMMARY_TITLE = Text(pt="Resultado da conferência do xlbridge", en="What xlbridge found")
"""The first cell of the sheet that lists the findings."""

COVER_MOMENT = Text(pt="Exportado em", en="Exported at")
"""The first cell of a cover's second row."""

SHEETS_OF_PROPERTY: Mapping[str, frozenset[str]] = {
    TEMPLATE_PROPERTY: frozenset({INSTRUCTIONS_SHEET, LISTS_SHEET}),
    EXPORT_PROPERTY: frozenset({COVER_SHEET.pt, COVER_SHEET.en}),
}
"""The sheets that xlbridge adds to the workbooks that have a custom property."""

_FIRST_CELLS: Mapping[str, tuple[str, ...]] = {
    INSTRUCTIONS_SHEET: (INSTRUCTIONS_TITLE,),
    REGISTRIES_SHEET: (REGISTRIES_TITLE,),
    SUMMARY_SHEET: (SUMMARY_TITLE.pt, SUMMARY_TITLE.en),
    COVER_SHEET.pt: (COVER_MOMENT.pt,),
    COVER_SHEET.en: (COVER_MOMENT.en,),
}


def is_name_of_ours(sheet: str) -> bool:
    """Return whether a sheet bears a name that xlbridge gives to the sheets that it adds."""
    return sheet in _FIRST_CELLS


def starts_like_ours(sheet: str, first_texts: Iterable[object]) -> bool:
    """Return whether a sheet that bears a name of ours begins as ours do.

    For workbooks that lost the marks: not every program keeps properties and names.
    ``first_texts`` are the first cells of the first two rows.
    """
    openings = _FIRST_CELLS.get(sheet)
    return openings is not None and any(
        isinstance(text, str) and text.startswith(openings) for text in first_texts
    )


STATUS_COLUMNS = ("situação no envio", "motivo da rejeição", "código no sistema")
"""The columns that a living copy adds beside the data; not columns of the resource."""

REJECTS_COLUMNS = ("linha original", "motivo")
"""The columns that a rejects workbook adds after the data; not columns of the resource."""
