"""Forms of every report, declared once: what options say of each, and how a report is told in it.

Uploads, processing, batches, rehearsals, closing proofs and validations all report by
``ReportForms``, so that a form is chosen, printed and written in one way.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlbridge.files import replace_atomically
from xlbridge.i18n import Text


def _has_none(*_: object) -> Any:
    raise NotImplementedError("the report has no such form")


@dataclass(frozen=True, slots=True)
class ReportForms:
    """Contents of a report, each made when a form asks for it; those that it lacks are left out.

    ``document`` is what JSON holds, ``lines`` are for a person; ``page`` is HTML, and ``workbook``
    writes a file. ``json_pieces`` is the text of a document that is too long to hold at once.
    """

    document: Callable[[], Any] = _has_none
    lines: Callable[[], Iterable[Text | str]] = _has_none
    page: Callable[[], str] = _has_none
    workbook: Callable[[Path], None] = _has_none
    json_pieces: Callable[[], Iterator[str]] | None = None

    def render(self, form: str) -> Iterator[str]:
        """Yield the text of a printable form piece by piece, in the active language."""
        return PRINTABLE_FORMS[form].pieces(self)

    def write(self, form: str, target: Path) -> None:
        """Write a form to a file, whole or not at all, for its owner only: it quotes cells.

        Raises ``UsageError`` when it cannot be written; ``WorkbookRefused`` when it is to be a copy
        of a workbook that cannot be copied.
        """
        if form == "workbook":
            self.workbook(target)
            return
        with (
            replace_atomically(target) as temporary,
            temporary.open("w", encoding="utf-8", newline="\n") as file,
        ):
            last = "\n"
            for piece in self.render(form):
                file.write(piece)
                last = piece
            if not last.endswith("\n"):
                file.write("\n")


def _text(report: ReportForms) -> Iterator[str]:
    return (f"{line}\n" for line in report.lines())


def _json(report: ReportForms) -> Iterator[str]:
    if report.json_pieces is not None:
        return report.json_pieces()
    return iter([json.dumps(report.document(), ensure_ascii=False, default=str)])


def _html(report: ReportForms) -> Iterator[str]:
    return iter([report.page()])


@dataclass(frozen=True, slots=True)
class PrintableForm:
    """Form of reports that is text: what options say of it, and its pieces made of a report.

    Not of every report is one that needs more than the lines and the document that each has.
    """

    help: Text
    pieces: Callable[[ReportForms], Iterator[str]]
    of_every_report: bool = True


PRINTABLE_FORMS: Mapping[str, PrintableForm] = {
    "text": PrintableForm(Text(pt="texto para pessoas", en="text for people"), _text),
    "json": PrintableForm(Text(pt="JSON para programas", en="JSON for programs"), _json),
    "html": PrintableForm(
        Text(pt="uma página para o navegador", en="a page for the browser"),
        _html,
        of_every_report=False,
    ),
}
"""The printable forms by name, the default first; the other form is ``workbook``."""
