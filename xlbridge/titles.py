"""Texts that several rooms show: titles of columns, facts and buttons, words for states, rows of
records, and progress.

A title of one report alone is declared beside it.

A row of a sheet may have several records, such as the titles of instalments. The first one has
Excel's number of the row. The others have larger numbers, beyond any row of a sheet, so that plans
and the journal tell them apart; people see the row.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
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


_ROW_TEXT = re.compile(r"(\d+) \((\d+)\)")
_ROWS = 10_000_000
"""Distance of the numbers of records in one row: more than the rows of any sheet."""


def record_row(row: int, number: int) -> int:
    """Return the number of a record by Excel's number of its row and its own number in the row,
    from zero on."""
    return number * _ROWS + row


def sheet_row(record: int) -> int:
    """Return Excel's number of the row of a record."""
    return record % _ROWS


def number_in_row(record: int) -> int:
    """Return the number of a record in its row, from zero on."""
    return record // _ROWS


def row_text(record: int) -> str:
    """Return the row of a record for people, with its number in the row from the second one on:
    17, 17 (2)."""
    number = number_in_row(record)
    return f"{sheet_row(record)} ({number + 1})" if number else f"{record}"


def read_row_text(text: str) -> int | None:
    """Return the number of a record from its row for people, None for another text."""
    found = _ROW_TEXT.fullmatch(text.strip())
    return None if found is None else record_row(int(found[1]), int(found[2]) - 1)


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """Progress of work that takes a while; by default nobody is shown it.

    ``show`` replaces the text or adds a line, ``advance`` completes one step, ``count`` sets the
    numbers of done and of all steps, ``paused`` hides a display for a block.
    """

    show: Callable[[Text], None] = lambda _text: None
    advance: Callable[[], None] = lambda: None
    count: Callable[[int, int], None] = lambda _done, _total: None
    paused: Callable[[], AbstractContextManager[None]] = nullcontext


OpenProgress = Callable[[Text, int], AbstractContextManager[WorkProgress]]
"""Shows the progress of a part of the work, from its title and number of steps."""
