"""Report of what was done, in the forms that it has: lines, JSON, a page, a workbook.

Uploads, processing, batches, rehearsals, closing proofs and validations all report by it, so that a
form is printed and written in one way.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlbridge.files import replace_atomically
from xlbridge.i18n import Text

PRINTABLE_FORMS = ("text", "json", "html")
"""Names of the forms that are text, the default first; the other one is ``workbook``."""


def _has_none(*_: object) -> Any:
    raise NotImplementedError("the report has no such form")


@dataclass(frozen=True, slots=True)
class ReportForms:
    """Forms of a report, each made when it is asked for; those that it lacks are left out.

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
        match form:
            case "text":
                yield from (f"{line}\n" for line in self.lines())
            case "html":
                yield self.page()
            case "json" if self.json_pieces is not None:
                yield from self.json_pieces()
            case "json":
                yield json.dumps(self.document(), ensure_ascii=False, default=str)
            case _:
                raise ValueError(f"no printable form: {form}")

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
