"""Examples of each command, shown at the end of its help."""

from collections.abc import Mapping, Sequence

from xlbridge.i18n import Text

_UNWRAPPED = "\b"
"""As click knows paragraphs whose lines stay."""

_JOB = "20261101-093000-a1b2"
EXAMPLES: Mapping[str, Sequence[str]] = {
    "resources": ("resources", "resources --format json"),
    "resources new": ("resources new --from fornecedores.xlsx -o fornecedor.yaml",),
    "template": ("template cliente", "template contasreceber --with-lists -o receber.xlsx"),
    "validate": (
        "validate receber.xlsx",
        "validate receber.xlsx --fix receber-2.xlsx --dates dmy",
        "validate *.xlsx --format html -o achados.html",
        "validate titulos.xlsx --map titulos.yaml",
    ),
    "map": ("map titulos.xlsx", "map titulos.xlsx -o titulos.yaml"),
    "upload": (
        "upload receber.xlsx",
        "upload receber.xlsx --mode preview",
        "upload receber.xlsx --annotate receber-enviado.xlsx",
    ),
    "jobs": ("jobs", f"jobs {_JOB}"),
    "resume": ("resume", f"resume {_JOB}"),
    "retry": (f"retry {_JOB}", f"retry {_JOB} --file receber-corrigido.xlsx"),
    "resolve": (f'resolve {_JOB} --as applied --reason "Ana conferiu"',),
    "process": (
        "process pedidos pedidos.xlsx --plan",
        "process nfe --id 1831,1833",
    ),
    "undo": (f"undo {_JOB}",),
    "ui": ("ui",),
    "batch": ("batch plan mes.yaml --month 2026-10", "batch run mes.yaml --month 2026-10"),
    "batch plan": ("batch plan mes.yaml --month 2026-10",),
    "batch run": ("batch run mes.yaml --month 2026-10",),
    "batch resume": ("batch resume", "batch resume fechamento-2026-10"),
    "batch status": ("batch status", "batch status fechamento-2026-10"),
    "batch proof": ("batch proof", "batch proof fechamento-2026-10"),
    "batch rehearse": ("batch rehearse mes.yaml --month 2026-10",),
    "listings": ("listings", "listings --format json"),
    "export": (
        "export clientes -o clientes.xlsx",
        "export contasreceber --branch 1 -o receber.csv --csv-dialect pt-br",
    ),
    "sandbox": ("sandbox", "sandbox --port 8484"),
    "login": ("login", "login --profile prod --url https://api.empresa.com.br"),
    "profiles": ("profiles", "profiles --default homologacao"),
    "whoami": ("whoami", "whoami --profile prod"),
    "api": ("api GET /v2/sistema/info",),
    "doctor": ("doctor", "doctor --format json"),
}
"""Command lines without the program's name, by command."""


def examples_of(command: str) -> str | None:
    """Return the end of the help of a command, None where it has no example."""
    lines = EXAMPLES.get(command, ())
    title = Text(pt="Exemplos:", en="Examples:") if len(lines) > 1 else _ONE
    shown = (f"  xlbridge {line}" for line in lines)
    return "\n".join((_UNWRAPPED, str(title), *shown)) if lines else None


_ONE = Text(pt="Exemplo:", en="Example:")
