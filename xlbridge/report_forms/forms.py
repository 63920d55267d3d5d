"""Output forms of reports: text, JSON, HTML page, workbook.

Every command reports through ``ReportForms``, so that forms are chosen, printed and written in one
way. Text and page are rendered here from a ``Report``; ``xlbridge.workbook.write`` writes it as a
workbook. A standalone page contains its style, script and data, and its content security policy
lets it load nothing. Values from a workbook or the remote system are always escaped.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from xlbridge.files import replace_atomically
from xlbridge.i18n import Text, active_language, untranslated
from xlbridge.report_forms.report import (
    Line,
    Report,
    Table,
    Tone,
    grouped_number,
    more_text,
    value_text,
)

if TYPE_CHECKING:
    from jinja2 import Environment


def _not_available(*_: object) -> Any:
    raise NotImplementedError("the report has no such form")


@dataclass(frozen=True, slots=True)
class ReportForms:
    """The forms in which a report is available, each built on demand.

    ``document`` is the JSON document, ``lines`` are text for people, ``page`` is HTML, ``workbook``
    writes a file. ``json_pieces`` is the text of a document too long to hold in memory.
    ``of_report`` renders ``lines`` and ``page`` of a ``report`` that is data.
    """

    document: Callable[[], Any] = _not_available
    lines: Callable[[], Iterable[Text | str]] = _not_available
    page: Callable[[], str] = _not_available
    workbook: Callable[[Path], None] = _not_available
    json_pieces: Callable[[], Iterator[str]] | None = None
    report: Callable[[], Report] = _not_available

    @classmethod
    def of_report(
        cls,
        report: Callable[[], Report],
        document: Callable[[], Any] = _not_available,
        workbook: Callable[[Path], None] = _not_available,
    ) -> Self:
        """Return the forms of a report that is data; ``document`` and ``workbook`` go with it."""
        return cls(
            document,
            lambda: text_lines(report()),
            lambda: report_page(report()),
            workbook,
            report=report,
        )

    def render(self, form: str) -> Iterator[str]:
        """Yield the text of a printable form piece by piece, in the active language."""
        return PRINTABLE_FORMS[form].pieces(self)

    def write(self, form: str, target: Path) -> None:
        """Write a form to a file atomically, readable by its owner only, as it quotes cells.

        Raises ``UsageError`` if it cannot be written; ``WorkbookRefused`` if the form is a copy of
        a workbook that cannot be copied.
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


@dataclass(frozen=True, slots=True)
class PrintableForm:
    """A textual form of reports: its help in options, and a function that renders it in pieces.

    A ``universal`` form needs only the lines and the document, which every report has.
    """

    help: Text
    pieces: Callable[[ReportForms], Iterator[str]]
    universal: bool = True


PRINTABLE_FORMS: Mapping[str, PrintableForm] = {
    "text": PrintableForm(Text(pt="texto para pessoas", en="text for people"), _text),
    "json": PrintableForm(Text(pt="JSON para programas", en="JSON for programs"), _json),
    "html": PrintableForm(
        Text(pt="uma página para o navegador", en="a page for the browser"),
        lambda report: iter([report.page()]),
        universal=False,
    ),
}
"""The printable forms by name, the default first; the other form is ``workbook``."""


def text_lines(report: Report) -> Iterator[Text]:
    """Yield a report as lines for people; the verdict and the next steps come last."""
    if report.title is not None:
        yield report.title
    for name, value in report.facts:
        yield untranslated("{indent}{name}: {value}").format(
            indent="" if report.title is None else "  ",
            name=name,
            value=value if isinstance(value, Text) else value_text(value),
        )
    for table in report.tables:
        yield from _table_lines(table)
    yield from report.remarks
    for problem in report.problems:
        yield untranslated("✗ {problem}").format(problem=problem)
    if report.verdict is not None:
        yield report.verdict
    yield from report.next_steps


def _table_lines(table: Table) -> Iterator[Text]:
    if table.title is not None and table.lines:
        yield untranslated("{title}: {n}").format(title=table.title, n=table.body)
    shown = table.cut(table.most)
    for line in () if table.aligned else shown.lines:
        head, below = line.text, line.below
        if head is None:
            head = value_text(line.values[0])
            below = [
                f"  {heading.title}: {value_text(value)}"
                for heading, value in zip(table.headings[1:], line.values[1:], strict=True)
                if value is not None
            ]
        yield from (
            text if isinstance(text, Text) else untranslated(text) for text in (head, *below)
        )
    if table.aligned:
        yield from _aligned_lines(shown)
    if shown.omitted:
        yield untranslated("  {more}").format(more=more_text(shown.omitted))


def _aligned_lines(table: Table) -> Iterator[Text]:
    """Yield the headings and lines of a table in columns, numbers to the right."""
    if not table.lines:
        return
    texts = [["" if v is None else value_text(v) for v in line.values] for line in table.lines]
    columns = [
        [cell.rjust(width) if table.is_numeric(number) else cell.ljust(width) for cell in cells]
        for number, heading in enumerate(table.headings)
        for cells in [[str(heading.title), *(line[number] for line in texts)]]
        for width in [max(map(len, cells))]
    ]
    for line in zip(*columns, strict=True):
        yield untranslated("  ".join(line).rstrip())


_MAX_LINES_OF_PAGE = 200
_CUT = Text(
    pt="Mostradas {n} de {all} linhas{first}; {complete} tem todas.",
    en="Showing {n} of {all} lines{first}; {complete} has them all.",
)
_OPEN_FIRST = Text(pt=", primeiro as que não conferem", en=", those that do not agree first")


def report_page(report: Report) -> str:
    """Return a report as a page without scripts; long tables are shortened, counts stay exact."""
    sections = [
        (sheet, [(table, *_shortened(table, report.complete)) for table in tables])
        for sheet, tables in groupby(report.tables, key=lambda table: table.sheet)
    ]
    return render_page(
        "xlbridge.report_forms",
        title=report.title or next((table.sheet for table in report.tables), report.verdict),
        report=report,
        sections=sections,
        cells=_page_cells,
    )


def _shortened(table: Table, complete: Text | None) -> tuple[Sequence[Line], Text | None]:
    """Return the lines of a table on a page, and the note below a table that is shortened."""
    shown = table.cut(None if complete is None else _MAX_LINES_OF_PAGE)
    if not shown.omitted:
        return shown.lines, None
    is_mixed = shown.has_open_lines and any(line.tone is Tone.PLAIN for line in table.lines)
    note = _CUT.format(
        n=grouped_number(shown.body),
        all=grouped_number(table.body),
        first=_OPEN_FIRST if is_mixed else "",
        complete=complete,
    )
    return shown.lines, note


def _page_cells(table: Table, line: Line) -> Iterator[tuple[Text, str, str]]:
    """Yield the cells of a line: label on narrow screens, text, CSS classes.

    The texts below a line are in its last cell.
    """
    *values, last = line.values
    if line.below:
        texts = [value_text(last), *(str(text).strip() for text in line.below)]
        last = "\n".join(texts)
    for heading, value in zip(table.headings, (*values, last), strict=True):
        classes = {
            "number": isinstance(value, int | Decimal),
            "alarm": heading.alarming and bool(value),
            "digest": heading.digest,
            "path": heading.path,
            "zero": value == 0,
            "empty": value is None,
        }
        names = " ".join(name for name, applies in classes.items() if applies)
        yield heading.title, "" if value is None else value_text(value), names


_BASE = "xlbridge.report_forms"


def render_page(
    package: str, *, scripted: bool = False, served: bool = False, **values: object
) -> str:
    """Return a page as HTML, in the active language.

    The folder ``page`` of ``package`` contains ``page.html``, which extends
    ``xlbridge.report_forms/base.html``, ``page.css``, and ``page.js`` if the page is ``scripted``.
    The template receives ``values``; its filter ``tojson`` passes data to the script. Lone
    surrogates, which UTF-8 cannot encode, become question marks. A page that is ``served`` is not
    standalone: it loads its style and scripts from ``/files/`` of its server, which sets its
    policy.
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
    # Imported late, for the sake of commands that write no page.
    from xml.etree.ElementTree import tostring

    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["csp_hash"] = _csp_hash
    environment.filters["value_text"] = value_text
    # Serialising escapes the texts of a picture.
    environment.filters["svg"] = lambda picture: Markup(tostring(picture, "unicode"))  # noqa: S704
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


@cache
def _source(name: str) -> str:
    """Return the text of a file in a package, named ``package/path``."""
    package, _, path = name.partition("/")
    return files(package).joinpath(path).read_text("utf-8")


def _csp_hash(content: str) -> str:
    """Return the hash source of a content security policy that allows ``content``."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
