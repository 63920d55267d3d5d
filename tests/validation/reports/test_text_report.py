"""Text report: groups, exact counts, limit, progress and colours at a terminal."""

import json
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from environment import ROOT, Xlbridge, clean_environment
from forked import Zygote
from sheets import records, write_rows

from xlbridge.files import as_arguments
from xlbridge.resources import Catalogue
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.validation.report import Report
from xlbridge.validation.report_formats import report_forms, report_lines

SAMPLES = ROOT / "samples"


def many(count: int, file: str = "cr.xlsx") -> ValidatedSheet:
    findings = [
        Finding(CATALOGUE["type-boolean"], row, "codigo", f"B{row}", f"x{row}")
        for row in range(2, count + 2)
    ]
    warning = Finding(CATALOGUE["number-as-text"], 2, "valor", "A2", "1", {"read": "1"})
    return ValidatedSheet(Path(file), None, "Plan1", 1, findings=[warning, *findings])


def test_a_hundred_thousand_findings_are_a_few_lines() -> None:
    lines = list(report_lines(Report([many(100_000)])))
    assert "errors: 100000 · warnings: 1" in lines[0]
    assert lines[1] == "  • codigo: This is neither true nor false.  [type-boolean] ×100000"
    assert lines[2].startswith("      B2='x2', B3='x3', B4='x4', B5='x5', B6='x6' … and 99995 more")
    assert [line for line in lines if "number-as-text" in line] == lines[4:5]
    assert len(lines) == 7


def test_columns_are_named_for_people_as_in_their_sheet(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    resource = catalogue["contasreceber"]
    early = {"codigoDaContaCorrente": "x", "dataDeVencimento": "01/01/2026", "outras": "y"}
    names, rows = records(resource.name, [early])
    names, rows = names[1:], [row[1:] for row in rows]
    titled = [str(resource.by_name[name].title) for name in names[:-1]] + ["outras"]
    titled[titled.index("Current account code")] = "CÓDIGO DA  CONTA CORRENTE"
    path = write_rows(tmp_path / "titled.xlsx", titled, rows)
    forms = report_forms(Report([validate_workbook(path, catalogue, resource=resource.name)]))
    text, page = "\n".join(forms.lines()), forms.page()
    for shown in (text, page):
        assert "CÓDIGO DA CONTA CORRENTE" in shown
        assert "The date is earlier than that of Issue date." in shown
        assert "Add a column named Branch code to the header." in shown
        assert not re.search("codigoDaContaCorrente|dataDe|codigoDaFilial", shown)
    assert "• CÓDIGO DA CONTA CORRENTE: This is not a whole number." in text
    found = json.dumps(forms.document())
    assert "codigoDaContaCorrente" in found
    assert "The date is earlier than that of dataDeEmissao." in found


def test_columns_of_a_sheet_with_the_interfaces_names_keep_these(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    names, rows = records("contasreceber", [{"codigoDaContaCorrente": "x"}])
    path = write_rows(tmp_path / "named.xlsx", names[1:], [row[1:] for row in rows])
    sheet = validate_workbook(path, catalogue, resource="contasreceber")
    text = "\n".join(report_forms(Report([sheet])).lines())
    assert "• codigoDaContaCorrente: This is not a whole number." in text
    assert "Add a column named codigoDaFilial to the header." in text


def test_the_cells_shown_of_a_rule_can_be_chosen() -> None:
    lines = list(report_lines(Report([many(7)], 7)))
    assert "B8='x8'" in lines[2]
    assert "more" not in lines[2]
    bare = list(report_lines(Report([many(7)], 0)))
    assert not any("B2" in line for line in bare)
    assert "×7" in bare[1]


def test_hint_of_a_single_cell_is_shown_below_it() -> None:
    findings = [
        Finding(
            CATALOGUE["child-sum"], row, "valor", f"H{row}", "1", {**details, "expected": total}
        )
        for details in [{"column": "valor", "key": "T", "found": "1"}]
        for row, total in enumerate(["10.00", "7.50"], start=2)
    ]
    sheet = ValidatedSheet(Path("cr.xlsx"), None, "rateio", 1, findings=findings)
    lines = list(report_lines(Report([sheet])))
    assert [line.strip() for line in lines if "must add up" in line] == [
        "→ Correct the rows of this key: they must add up to 10.00.",
        "→ Correct the rows of this key: they must add up to 7.50.",
    ]


def test_several_files_have_a_total() -> None:
    *_, last = report_forms(Report([many(3), many(4, "cp.xlsx")])).lines()
    assert last == "Total · files: 2 · passed: 0 · rows: 0 · errors: 7 · warnings: 2"


def test_summary_has_counts_by_rule_fixable_cells_and_next_steps(
    xlbridge: Xlbridge, tmp_path: Path
) -> None:
    sample, fixed = SAMPLES / "contasreceber-com-erros.xlsx", tmp_path / "f.xlsx"
    lines = xlbridge("validate", sample).stdout.splitlines()
    assert lines[-5] == ""
    assert lines[-4].startswith("Errors by rule (18): type-integer 3, ")
    assert lines[-4].endswith(" … and 5 more")
    assert lines[-3] == "Warnings by rule (4): date-as-text 2, column-unknown 1, number-as-text 1"
    assert lines[-2] == "3 of 22 can be fixed with --fix: date-as-text 2, number-as-text 1"
    quoted = as_arguments(str(sample))
    assert lines[-1] == (
        f"Next: xlbridge validate {quoted} --fix contasreceber-com-erros-fixed.xlsx"
    )
    left = xlbridge("validate", sample, "--fix", fixed).stdout.splitlines()
    assert left[-1].startswith(f"Next: xlbridge validate {fixed.name} --annotate f-marked.xlsx")
    marked = xlbridge("validate", fixed, "--annotate", tmp_path / "m.xlsx").stdout.splitlines()
    assert marked[-1] == f"Next: correct the workbook, then: xlbridge validate {fixed.name}"
    # Of a sheet without rows no cell could be shown.
    empty = write_rows(tmp_path / "e.xlsx", ["nomeComercial", "cnpj", "natureza"], [])
    ended = xlbridge("validate", empty).stdout.splitlines()
    assert ended[-1] == f"Next: correct the workbook, then: xlbridge validate {empty.name}"
    # Of a workbook with child sheets, the summary counts all of them and the next step comes last.
    order = SAMPLES / "pedido-com-erros.xlsx"
    ended = xlbridge("validate", order).stdout.splitlines()
    assert ended[-1].startswith(f"Next: xlbridge validate {as_arguments(str(order))} --")
    refused = xlbridge("upload", order, "--yes").stderr.splitlines()
    assert refused[-2].startswith("Nothing was sent")
    assert refused[-1] == ended[-1]
    good = SAMPLES / "cliente.xlsx"
    passed = xlbridge("validate", good).stdout.splitlines()
    assert passed[-1] == f"Next: xlbridge upload {as_arguments(str(good))}"


def test_a_page_can_be_printed_or_written(xlbridge: Xlbridge, tmp_path: Path) -> None:
    sample, page = SAMPLES / "cliente-com-erros.xlsx", tmp_path / "r.html"
    printed = xlbridge("validate", sample, "--format", "html")
    assert printed.returncode == 1
    assert printed.stdout.startswith("<!doctype html>")
    assert xlbridge("validate", sample, "--format", "html", "-o", page).returncode == 1
    content = page.read_text(encoding="utf-8")
    data = content.partition('id="data">')[2].partition("</script>")[0]
    (file,) = json.loads(data)["files"]
    assert file["errors"] == sum(r["count"] for r in file["rules"] if r["severity"] == "error")
    assert content.rstrip().endswith("</html>")


Terminal = Callable[..., bytes]


@pytest.fixture
def at_a_terminal(home: Path, forks: Zygote) -> Terminal:
    """Run the command at a terminal, and return what it shows there."""

    def run(*arguments: str, shown: str = "stdout", **environment: str) -> bytes:
        controller, terminal = os.openpty()
        own = clean_environment(home, **{"TERM": "xterm", **environment})
        with ThreadPoolExecutor() as reader:
            seen = reader.submit(_read_all, controller)
            forks.run(
                ROOT, own, [*arguments], longest=60, terminal=os.ttyname(terminal), shown=shown
            )
            os.close(terminal)
        os.close(controller)
        return seen.result()

    return run


def _read_all(controller: int) -> bytes:
    seen = b""
    with suppress(OSError):  # raised once no process has the terminal open
        while chunk := os.read(controller, 65536):
            seen += chunk
    return seen


def test_progress_is_shown_at_a_terminal(at_a_terminal: Terminal) -> None:
    samples = [str(SAMPLES / f"{name}.xlsx") for name in ("cliente", "contaspagar")]
    seen = at_a_terminal("validate", *samples, shown="stderr", COLUMNS="200")
    assert b"contaspagar.xlsx" in seen
    assert b"1/2" in seen


ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("columns", [80, 120])
def test_lines_at_a_terminal_fit_its_width_and_are_coloured(
    at_a_terminal: Terminal, columns: int
) -> None:
    sample = str(SAMPLES / "contasreceber-com-erros.xlsx")
    shown = at_a_terminal("--lang", "pt-BR", "validate", sample, COLUMNS=str(columns))
    lines = shown.decode().splitlines()
    plain = [ESCAPES.sub("", line) for line in lines]
    assert max(map(len, plain)) <= columns
    text = "  • Data de vencimento: A data é texto e pode ser 05/11/2026 ou 11/05/2026."
    line = f"{text}  [date-ambiguous]"
    assert (line in plain) == (columns == 120)
    assert ("    [date-ambiguous]" in plain) == (columns == 80)
    assert "\x1b[31m✗\x1b[0m" in lines[0]
    assert any("\x1b[33m◦\x1b[0m" in line for line in lines)


def test_colours_can_be_disabled(at_a_terminal: Terminal) -> None:
    sample = str(SAMPLES / "cliente-com-erros.xlsx")
    for unwanted in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        lines = at_a_terminal("validate", sample, **unwanted).decode().splitlines()
        assert lines[0].startswith("✗")
        assert not any("\x1b" in line for line in lines)


def test_colours_can_be_forced(xlbridge: Xlbridge) -> None:
    sample = SAMPLES / "cliente-com-erros.xlsx"
    forced = xlbridge("validate", sample, FORCE_COLOR="1").stdout
    plain = xlbridge("validate", sample, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert ("\x1b[31m✗\x1b[0m" in forced, ESCAPES.sub("", forced)) == (True, plain)
    assert "\x1b" not in plain


def test_piped_output_is_neither_wrapped_nor_coloured(xlbridge: Xlbridge) -> None:
    sample = SAMPLES / "contasreceber-com-erros.xlsx"
    printed = xlbridge("validate", sample, COLUMNS="80").stdout
    assert "\x1b" not in printed
    line = "  • Data de emissão: This is not a date: the calendar has no such day.  [type-date]"
    assert line in printed.splitlines()
