"""Forms of the validation report: one table, one module for each.

A new form is a module with a ``render`` function and a line of ``FORMS``. Nothing heavy is imported
here: the command's options are made from the table.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.files import replace_atomically

if TYPE_CHECKING:
    from xlbridge.validation.reports.model import Report


@dataclass(frozen=True, slots=True)
class ReportForm:
    """A form of the report.

    ``module`` is the one that renders it. The text of a ``printable`` form may go to a terminal or
    a pipe; the others are files that their module writes.
    """

    module: str
    printable: bool = True

    def render(self, report: "Report") -> Iterator[str]:
        """Yield the text of the report piece by piece, in the active language."""
        return self._function("render")(report)  # type: ignore[no-any-return]

    def write(self, report: "Report", target: Path) -> None:
        """Write the report to a file, whole or not at all, for its owner only: it quotes cells.

        Raises ``UsageError`` when it cannot be written; ``WorkbookRefused`` when it is to be a copy
        of a workbook that cannot be copied.
        """
        if not self.printable:
            self._function("write")(report, target)
            return
        with (
            replace_atomically(target) as temporary,
            temporary.open("w", encoding="utf-8") as file,
        ):
            last = "\n"
            for piece in self.render(report):
                file.write(piece)
                last = piece
            if not last.endswith("\n"):
                file.write("\n")

    def _function(self, name: str) -> Any:
        return getattr(import_module(f"xlbridge.validation.reports.{self.module}"), name)


FORMS = {
    "text": ReportForm("text_report"),
    "json": ReportForm("json_report"),
    "html": ReportForm("html_report"),
    "workbook": ReportForm("annotated_copy", printable=False),
}
"""The forms by name, the default first."""

PRINTABLE_FORMS = tuple(name for name, form in FORMS.items() if form.printable)
"""Names of the forms that are text."""
