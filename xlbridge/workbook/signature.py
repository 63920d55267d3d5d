"""What a workbook that xlbridge wrote is recognised by when it comes back."""

TEMPLATE_PROPERTY = "xlbridge-template"
"""The custom document property that holds the resource's fingerprint."""

EXPORT_PROPERTY = "xlbridge-export"
"""The custom document property that holds the name of the exported listing."""

PROOF_PROPERTY = "xlbridge-proof"
"""The custom document property that holds the digest of the plan of a batch that is proven."""

INSTRUCTIONS_SHEET = "Instruções"
"""The sheet of a template that tells how to fill it in; never data."""

LISTS_SHEET = "Listas"
"""The hidden sheet of a template that its dropdowns read; never data."""

SUMMARY_SHEET = "xlbridge"
"""The sheet that lists the findings in an annotated workbook; never data."""

SUMMARY_NAME = "xlbridge.summary"
"""The hidden name, local to that sheet, that it is known by whatever it is called."""

COVER_SHEET = "Exportação"
"""The first sheet of an export: what was asked for, counts, control totals; never data."""

OWN_SHEETS = frozenset({COVER_SHEET, INSTRUCTIONS_SHEET, LISTS_SHEET, SUMMARY_SHEET})
"""The sheets that xlbridge itself adds to a workbook."""

LIVING_COLUMNS = ("situação no envio", "motivo da rejeição", "código no sistema")
"""The columns that a living copy adds beside the data; not columns of the resource."""

REMARK_COLUMNS = ("linha original", "motivo")
"""The columns that a rejects workbook adds after the data; not columns of the resource."""
