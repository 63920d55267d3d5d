"""Titles of columns, facts and buttons that several reports share, and words for states.

A title of one report alone is declared beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from xlbridge.i18n import Text, joined, untranslated

AFTER = Text(pt="Depois", en="After")
AMOUNT = Text(pt="Valor (R$)", en="Amount (R$)")
BATCH = Text(pt="Lote", en="Batch")
BATCHES = Text(pt="Lotes", en="Batches")
BEFORE = Text(pt="Antes", en="Before")
CELL = Text(pt="Célula", en="Cell")
COLUMN = Text(pt="Coluna", en="Column")
DATE = Text(pt="Data", en="Date")
DETAILS = Text(pt="Detalhes", en="Details")
DIFFERENCES = Text(pt="Diferenças", en="Differences")
ENVIRONMENT = Text(pt="Ambiente", en="Environment")
FILE = Text(pt="Arquivo", en="File")
IN_SYSTEM = Text(pt="No sistema", en="In the system")
KIND = Text(pt="Tipo", en="Kind")
LISTING = Text(pt="Listagem", en="Listing")
LISTINGS = Text(pt="Listagens", en="Listings")
MESSAGE = Text(pt="Mensagem", en="Message")
MODE = Text(pt="Modo", en="Mode")
NOTE = Text(pt="Observação", en="Note")
PLAN = Text(pt="Plano", en="Plan")
QUIRKS = Text(pt="Particularidades", en="Quirks")
REASON = Text(pt="Motivo", en="Reason")
RECORD = Text(pt="Registro", en="Record")
RECORDS = Text(pt="Registros", en="Records")
RESOURCE = Text(pt="Tipo de registro", en="Kind of record")
ROW_NUMBERS = Text(pt="Nº das linhas", en="Row numbers")
ROW = Text(pt="Linha", en="Row")
ROWS = Text(pt="Linhas", en="Rows")
RULES = Text(pt="Regras", en="Rules")
SENT = Text(pt="Enviado", en="Sent")
SEVERITY = Text(pt="Gravidade", en="Severity")
SHEET = Text(pt="Planilha", en="Sheet")
STATE = Text(pt="Situação", en="State")
STEP = Text(pt="Etapa", en="Step")
STEPS = Text(pt="Etapas", en="Steps")
TOTAL = untranslated("Total")
UPLOAD = Text(pt="Envio", en="Upload")
UPLOADS = Text(pt="Envios", en="Uploads")
VALUE = Text(pt="Valor", en="Value")
WHAT_IS_WRONG = Text(pt="O que está errado", en="What is wrong")
WHAT_TO_DO = Text(pt="O que fazer", en="What to do")
WORKBOOK = Text(pt="Arquivo", en="Workbook")
WORKBOOKS = Text(pt="Arquivos", en="Workbooks")

IN_DOUBT = Text(pt="em dúvida", en="in doubt")
"""State of a job, a workbook, a row or a record whose outcome is not proven."""

REQUIRED_MARK = " *"
"""End of the header of a required column in a template."""

YES = Text(pt="sim", en="yes")
NO = Text(pt="não", en="no")
EMPHATIC_NO = Text(pt="NÃO", en="NO")


def in_reais(title: Text) -> Text:
    """Return the title of amounts with their unit, once."""
    return title if "R$" in title.pt else title.changed("{} (R$)".format)


def quirks_facts(target: Mapping[str, Any] | None) -> Sequence[tuple[Text, str]]:
    """Return the fact of a report that names the quirks file of an environment, if it has one."""
    file = (target or {}).get("quirks")
    return [] if file is None else [(QUIRKS, file)]


def title_at(path: str, titles: Mapping[str, Text | str]) -> Text:
    """Return the title of a column by its path, that of a list (``list.name`` or
    ``list.number.name``) with the name of its sheet; the path itself if there is none."""
    sheet, *rest = path.split(".")
    title = titles.get(".".join([sheet, *rest[-1:]]))
    if title is None:
        return untranslated(path)
    own = title if isinstance(title, Text) else untranslated(title)
    return joined([untranslated(sheet), own], ": ") if rest else own
