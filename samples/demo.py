"""Demo of the whole workflow: template, findings, corrections, upload, rejection, exports.

Usage: python samples/demo.py [PROGRAM]

Run by ``make demo`` in the language of the environment, against the embedded sandbox. The workbooks
stay in ``out/``. PROGRAM is the application to use instead of this Python's xlbridge.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

from openpyxl import load_workbook

from xlbridge.i18n import Text, language_from_environment, set_language
from xlbridge.sandbox import sandbox_process

ROOT = Path(__file__).parents[1]
OUT = ROOT / "out"
PROGRAM = sys.argv[1:] or [sys.executable, "-m", "xlbridge"]
BAD = ROOT / "samples" / "contasreceber-com-erros.xlsx"
CORRECTED = OUT / "contasreceber-corrigida.xlsx"

Run = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs a command line in an environment; returns its output unless it is ``shown``."""

CORRECTIONS: dict[str, int | float | str | date | None] = {
    "A4": 1,
    "A5": 1,
    "B6": 1012,
    "B8": 1032,
    "C10": "1.01.001",
    "D11": "01.001",
    "F12": "Juros de mora, acordo 4007",
    "F13": "Juros de mora, acordo 4008",
    "H14": date(2026, 9, 30),
    "H15": date(2026, 9, 25),
    "H16": date(2026, 9, 3),
    "I17": date(2026, 11, 5),
    "I18": date(2026, 12, 5),
    "I19": date(2026, 10, 31),
    "J20": 1234,
    "J21": 850.4,
    "J22": 11,
    "J23": 50,
    "E24": 2,
    "K26": 1,
    "L27": None,
}
"""Corrections that a person would type. Client 1032 exists but is inactive."""


def main() -> int:
    """Play the demo and return its exit code."""
    set_language(language_from_environment(os.environ))
    clear_out()
    announce(
        "Início do ambiente de testes embutido: uma pequena empresa, só neste computador.",
        "Start of the embedded sandbox: a small practice company, on this computer only.",
    )
    with sandbox_process(OUT / "home", ["--seed", "demo"], program=PROGRAM) as sandbox:
        environment = os.environ | {
            "XLBRIDGE_HOME": str(OUT / "home"),
            "XLBRIDGE_BASE_URL": sandbox.base_url,
            "XLBRIDGE_EMAIL": sandbox.email,
            "XLBRIDGE_PASSWORD": sandbox.password,
            "XLBRIDGE_PROFILE": "sandbox",
            "PYTHONIOENCODING": "utf-8",
        }
        story(environment, run_program)
    announce("Pronto. Os arquivos gerados:", "Done. The files written:")
    for path in sorted(OUT.glob("*.*")):
        print(f"  out/{path.name}")
    return 0


def clear_out() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()


def run_program(
    environment: dict[str, str], words: list[str], *, shown: bool
) -> "subprocess.CompletedProcess[str]":
    """Run a command line of the program in its own process."""
    return subprocess.run(
        [*PROGRAM, *words],
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=not shown,
        encoding="utf-8",
    )


def story(environment: dict[str, str], run: Run) -> None:
    def xlbridge(expected: int, *arguments: object) -> None:
        """Show and run a command as a user would; stop if its exit code is unexpected."""
        words = [str(argument) for argument in arguments]
        print(f"\n$ xlbridge {' '.join(words)}", flush=True)
        done = run(environment, words, shown=True)
        ended = Text(pt="[código de saída {code}]", en="[exit code {code}]")
        print(ended.format(code=done.returncode), flush=True)
        if done.returncode != expected:
            other = Text(pt="a demonstração esperava {code}", en="the demo expected {code}")
            sys.exit(str(other.format(code=expected)))

    announce(
        "1. Um modelo, com listas de opções e instruções.",
        "1. A template, with dropdowns and instructions.",
    )
    xlbridge(0, "template", "contasreceber", "-o", "out/contasreceber.xlsx")

    announce(
        "2. A planilha de um colega, com todos os erros.",
        "2. A colleague's sheet, with all its errors.",
    )
    marked = "out/contasreceber-com-erros-marcada.xlsx"
    xlbridge(1, "validate", BAD.relative_to(ROOT), "--annotate", marked)

    announce(
        "3. A mesma planilha, corrigida.",
        "3. The same sheet, corrected.",
    )
    correct()
    xlbridge(0, "validate", CORRECTED.relative_to(ROOT))

    announce(
        "4. Uma prévia: o sistema lê a planilha e não grava nada.",
        "4. A preview: the system reads the sheet and writes nothing.",
    )
    xlbridge(0, "upload", CORRECTED.relative_to(ROOT), "--mode", "preview")

    announce(
        "5. O envio pela fila e processar-arquivo. Uma linha cita um cliente inativo, o que só\n"
        "   o sistema sabe. A rejeição é mostrada na célula da planilha.",
        "5. The upload through the queue and processar-arquivo. One row names an inactive client,\n"
        "   which only the system knows. The rejection is shown at the sheet's own cell.",
    )
    xlbridge(1, "upload", CORRECTED.relative_to(ROOT), "--mode", "queue", "--yes")

    xlbridge(0, "api", "GET", "/v2/importacao/log-importacao/1")

    announce(
        "6. As mesmas linhas outra vez: só a rejeitada é enviada, e nada entra duas vezes.",
        "6. The same rows again: only the rejected one is sent, and nothing is created twice.",
    )
    xlbridge(1, "upload", CORRECTED.relative_to(ROOT), "--mode", "queue", "--yes")

    announce(
        "7. A linha rejeitada, corrigida e enviada de novo.",
        "7. The rejected row, corrected and sent again.",
    )
    job = correct_rejected_row(run(environment, ["jobs", "--format", "json"], shown=False).stdout)
    xlbridge(0, "retry", job, "--yes")
    xlbridge(0, "jobs")

    announce(
        "8. Listagens exportadas como pastas de trabalho.", "8. Listings exported as workbooks."
    )
    manifest = "out/pedidos.manifest.json"
    xlbridge(0, "export", "pedidos", "-o", "out/pedidos.xlsx", "--manifest", manifest)
    xlbridge(0, "export", "estoque", "-o", "out/estoque.xlsx")


def announce(pt: str, en: str) -> None:
    print(f"\n{Text(pt=pt, en=en)}", flush=True)


def correct() -> None:
    book = load_workbook(BAD)
    sheet = book["Títulos"]
    for cell, value in CORRECTIONS.items():
        sheet[cell] = value
        if isinstance(value, date):
            sheet[cell].number_format = "dd/mm/yyyy"
    book.save(CORRECTED)


def correct_rejected_row(listed: str) -> str:
    """Name an active client in the rejects workbook; return the job it came from."""
    job = next(job for job in json.loads(listed)["jobs"] if job["state"] == "partial")
    book = load_workbook(job["rejects_file"])
    sheet = book["contasreceber"]
    # The note of a header has the column's name in the system.
    notes = [cell.comment.text if cell.comment else "" for cell in sheet[1]]
    column = next(n for n, note in enumerate(notes, 1) if note.endswith("codigoDoCliente"))
    sheet.cell(2, column).value = 1001
    book.save(job["rejects_file"])
    return str(job["job"])


if __name__ == "__main__":
    sys.exit(main())
