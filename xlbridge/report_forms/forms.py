"""Forms of every report, declared once: what options say of each, and how a report is told in it.

Uploads, processing, batches, rehearsals, closing proofs and validations all report by
``ReportForms``, so that a form is chosen, printed and written in one way. A page that stands alone
has style, script and data in it, and its content security policy lets it load nothing. A value from
a workbook or from the remote system is always escaped.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.files import replace_atomically
from xlbridge.i18n import Text, active_language

if TYPE_CHECKING:
    from jinja2 import Environment


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

_BASE = "xlbridge.report_forms"


def render_page(
    package: str, *, scripted: bool = False, served: bool = False, **values: object
) -> str:
    """Return a page as HTML, in the active language.

    The folder ``page`` of ``package`` holds its ``page.html``, which extends
    ``xlbridge.report_forms/base.html``, its ``page.css``, and ``page.js`` where the page is
    ``scripted``.
    The template gets ``values``; its filter ``tojson`` passes data to the script. Lone surrogates,
    which no file can hold, become question marks. A page that is ``served`` does not stand alone:
    it loads its style and scripts from ``/files/`` of its server, whose headers hold its policy.
    """
    style, script = "", None
    if not served:
        style = _source(f"{_BASE}/base.css") + _source(f"{package}/page/page.css")
        script = _source(f"{package}/page/page.js") if scripted else None
    template = _environment().get_template(f"{package}/page/page.html")
    page = template.render(
        values, language=active_language(), served=served, style=style, script=script
    )
    return page.encode("utf-8", "replace").decode()


@cache
def _environment() -> "Environment":
    # Imported late: commands that write no page start without it.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["csp_hash"] = _csp_hash
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


@cache
def _source(name: str) -> str:
    """Return a file that is shipped in a package, named ``package/path``."""
    package, _, path = name.partition("/")
    return files(package).joinpath(path).read_text("utf-8")


def _csp_hash(content: str) -> str:
    """Return how a content security policy names the one content that it lets through."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
