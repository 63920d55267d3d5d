"""The whole story in one run: template, findings, mending, upload, rejection, exports.

Usage: python samples/demo.py [PROGRAM]

Run by ``make demo``, told in the language of the environment. Everything happens on this computer,
against the embedded sandbox; the workbooks stay in ``out/``. PROGRAM is the application that plays
it, the xlbridge of this Python unless told.
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
MENDED = OUT / "contasreceber-corrigida.xlsx"

Run = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs a command line in an environment; where it is not ``shown``, what it says is given back."""

MENDING: dict[str, int | float | str | date | None] = {
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
"""What a person would type into the wrong cells. Client 1032 exists, and is inactive."""


def main() -> int:
    """Play the story and return the exit code of the demo."""
    set_language(language_from_environment(os.environ))
    clear_out()
    tell(
        "O sandbox embutido começa: uma pequena empresa para praticar, só neste computador.",
        "The embedded sandbox starts: a small company to practise on, on this computer only.",
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
    tell("Pronto. Os arquivos desta história:", "Done. The workbooks of this story:")
    for path in sorted(OUT.glob("*.*")):
        print(f"  out/{path.name}")
    return 0


def clear_out() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()


def run_program(
    environment: dict[str, str], words: list[str], *, shown: bool
) -> "subprocess.CompletedProcess[str]":
    """Run a command line of the program in a process of its own."""
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
        """Run one command as a user would, showing it and its output; stop if it ends otherwise."""
        words = [str(argument) for argument in arguments]
        print(f"\n$ xlbridge {' '.join(words)}", flush=True)
        done = run(environment, words, shown=True)
        ended = Text(pt="[código de saída {code}]", en="[exit code {code}]")
        print(ended.format(code=done.returncode), flush=True)
        if done.returncode != expected:
            other = Text(pt="a demonstração esperava {code}", en="the demo expected {code}")
            sys.exit(str(other.format(code=expected)))

    tell(
        "1. Um modelo: um arquivo que se explica.",
        "1. A template: a workbook that explains itself.",
    )
    xlbridge(0, "template", "contasreceber", "-o", "out/contasreceber.xlsx")

    tell(
        "2. Uma planilha como vem de um colega, e tudo o que há de errado nela.",
        "2. A sheet as it comes from a colleague, and everything that is wrong in it.",
    )
    marked = "out/contasreceber-com-erros-marcada.xlsx"
    xlbridge(1, "validate", BAD.relative_to(ROOT), "--annotate", marked)

    tell(
        "3. A mesma planilha, com essas células corrigidas.",
        "3. The same sheet with those cells mended.",
    )
    mend()
    xlbridge(0, "validate", MENDED.relative_to(ROOT))

    tell(
        "4. Uma prévia: o sistema lê a planilha e não grava nada.",
        "4. A preview: the system reads the sheet and writes nothing.",
    )
    xlbridge(0, "upload", MENDED.relative_to(ROOT), "--mode", "preview")

    tell(
        "5. Pela fila e processar-arquivo. Uma linha cita um cliente inativo: só o sistema pode\n"
        "   sabê-lo. A linha do seu log volta à célula do analista.",
        "5. Through the queue and processar-arquivo. One row names a client who is inactive:\n"
        "   only the system can know that. Its log line comes back to the analyst's own cell.",
    )
    xlbridge(1, "upload", MENDED.relative_to(ROOT), "--mode", "queue", "--yes")

    xlbridge(0, "api", "GET", "/v2/importacao/log-importacao/1")

    tell(
        "6. As mesmas linhas outra vez: só a rejeitada é tentada de novo; nada entra duas vezes.",
        "6. The same rows once more: only the rejected one is tried; nothing goes in twice.",
    )
    xlbridge(1, "upload", MENDED.relative_to(ROOT), "--mode", "queue", "--yes")

    tell(
        "7. Só a linha rejeitada é corrigida e enviada de novo.",
        "7. Only the rejected row is fixed and sent again.",
    )
    job = mend_rejected_row(run(environment, ["jobs", "--format", "json"], shown=False).stdout)
    xlbridge(0, "retry", job, "--yes")
    xlbridge(0, "jobs")

    tell("8. Listagens voltam como pastas de trabalho.", "8. Listings come back as workbooks.")
    manifest = "out/pedidos.manifest.json"
    xlbridge(0, "export", "pedidos", "-o", "out/pedidos.xlsx", "--manifest", manifest)
    xlbridge(0, "export", "estoque", "-o", "out/estoque.xlsx")


def tell(pt: str, en: str) -> None:
    print(f"\n{Text(pt=pt, en=en)}", flush=True)


def mend() -> None:
    book = load_workbook(BAD)
    sheet = book["Títulos"]
    for cell, value in MENDING.items():
        sheet[cell] = value
        if isinstance(value, date):
            sheet[cell].number_format = "dd/mm/yyyy"
    book.save(MENDED)


def mend_rejected_row(listed: str) -> str:
    """Name an active client in the rejects workbook and return the job that it came from."""
    job = next(job for job in json.loads(listed)["jobs"] if job["state"] == "partial")
    book = load_workbook(job["rejects_file"])
    sheet = book["contasreceber"]
    column = [cell.value for cell in sheet[1]].index("codigoDoCliente") + 1
    sheet.cell(2, column).value = 1001
    book.save(job["rejects_file"])
    return str(job["job"])


if __name__ == "__main__":
    sys.exit(main())
