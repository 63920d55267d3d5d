"""Texts of click in the language of all other messages; help pages.

Inside: cli.
"""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from environment import Xlbridge, clean_environment
from sampling import every
from sheets import write_records

from xlbridge.cli.help import BY_ENGLISH, EXAMPLES
from xlbridge.cli.main import main, root
from xlbridge.errors import resolve_name
from xlbridge.export import find_listing
from xlbridge.i18n import set_language
from xlbridge.resources import Catalogue

_MISNAMED = (
    "No options defined but a name was passed ({name}). Did you mean to declare an argument "
    "instead? Did you mean to pass '--{name}'?"
)
FOR_PROGRAMMERS = {
    "Name '{name}' defined twice",
    "Boolean option {decl!r} cannot use the same flag for true/false.",
    "Could not determine name for option with declarations {decls!r}",
    _MISNAMED,
    "Arguments take exactly one parameter declaration, got {length}: {decls}.",
    "Invalid start character for option ({option})",
    "Unknown color {colour!r}",
    "Unknown standard stream '{name}'",
    "Choice({choices})",
}
NOT_USED = {
    "{editor}: Editing failed",
    "{editor}: Editing failed: {e}",
    "Windows error: {error}",
    "d",
    "Show the version and exit.",
    "%(prog)s, version %(version)s",
    "Shell completion is not supported for Bash versions older than 4.4.",
    "Couldn't detect Bash version, shell completion is not supported.",
}
"""Of editors, progress in days, consoles of Windows, and shells; ours say these themselves."""


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    set_language("en")


def messages() -> Iterator[str]:
    """Every text that click's own source asks a translation for."""
    for file in Path(click.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"_", "ngettext"}:
                for argument in node.args:
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                        yield argument.value


def test_every_text_of_click_has_its_translation() -> None:
    known = set(messages())
    assert known - BY_ENGLISH.keys() == FOR_PROGRAMMERS | NOT_USED
    assert BY_ENGLISH.keys() - known == {"required"}


@pytest.mark.parametrize(
    ("arguments", "pt", "en"),
    [
        ([], ["Uso: xlbridge [OPÇÕES] COMANDO"], ["Usage: xlbridge [OPTIONS] COMMAND"]),
        (["validate"], ["Falta o argumento 'ARQUIVOS...'"], ["Missing argument 'FILES...'"]),
        (["nada"], ["Não há o comando 'nada'", "Para ajuda"], ["No such command 'nada'", "Try '"]),
        (["jobs", "--nada"], ["Não há a opção '--nada'"], ["No such option '--nada'"]),
        (["validate", "a", "--sheet"], ["A opção '--sheet' pede um valor"], ["requires an arg"]),
        (["validate", "a", "--format", "q"], ["Valor inválido em", "não é um destes"], ["one of"]),
        (["validate", "a", "--limit", "-1"], ["fora do intervalo"], ["not in the range"]),
        (["whoami", "a"], ["Há um argumento a mais (a)"], ["unexpected extra argument (a)"]),
    ],
)
def test_click_speaks_the_chosen_language(
    arguments: list[str], pt: list[str], en: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for language, words in (("pt-BR", pt), ("en", en)):
        assert main(["--lang", language, *arguments]) == 2
        output = capsys.readouterr()
        for word in words:
            assert word in output.out + output.err


@pytest.mark.parametrize("name", ["pt", "pt_BR", "pt-br", "PT", "pt_BR.UTF-8", "en", "en_US"])
def test_a_language_has_several_names(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--lang", name, "nada"], ["nada", f"--lang={name}"]):
        assert main(arguments) == 2
        begin = "Erro: " if name.lower().startswith("pt") else "Error: "
        assert begin in capsys.readouterr().err


_HELPS = """
from click import Context
from xlbridge.cli.main import main, root
for name in root.list_commands(Context(root)):
    parts = getattr(root.get_command(Context(root), name), "commands", {})
    for words in ([name], *([name, part] for part in parts)):
        main([*words, "--help"])
"""


@pytest.mark.processes
@pytest.mark.parametrize("language", every(2, ["pt-BR", "en"]))
def test_help_fits_a_narrow_terminal_without_broken_words(tmp_path: Path, language: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HELPS],
        env=clean_environment(tmp_path, XLBRIDGE_LANG=language, COLUMNS="80"),
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    lines = done.stdout.splitlines()
    assert len(lines) > 500
    assert [line for line in lines if len(line) > 80 and "xlbridge" not in line] == []
    assert [line for line in lines if re.search(r"\w-$", line)] == []


def test_many_options_are_in_groups(xlbridge: Xlbridge) -> None:
    upload = xlbridge("upload", "--help").stdout
    titles = [line for line in upload.splitlines() if re.fullmatch(r"\S.*:", line)]
    assert titles == [
        "Options:",
        "The sheet and how it is read:",
        "What is checked and written:",
        "What is sent:",
        "Consent:",
        "Environment and computer:",
        "Messages:",
    ]
    ungrouped = upload.partition(titles[1])[0]
    assert re.findall(r"^  (-.*?)  ", ungrouped, re.M) == ["-h, --help"]
    assert upload.index("--resource") < upload.index("--mode") < upload.index("--profile")
    few = xlbridge("listings", "--help").stdout
    assert few.count("Options:") == 1
    assert "Environment" not in few


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "a.xlsx", "--resource", "wrong"),
        ("validate", "absent.xlsx"),
        ("validate", "absent-1.xlsx", "absent-2.xlsx"),
    ],
)
def test_nothing_is_reported_twice(
    xlbridge: Xlbridge, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    write_records(tmp_path / "a.xlsx", "cliente", [{}])
    done = xlbridge(*arguments)
    assert done.returncode == 2
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line]
    assert len(lines) == len(set(lines))
    output = done.stdout + done.stderr
    assert [output.count(text) for text in ("no resource", "does not exist")] == [
        "wrong" in arguments,
        sum(name.startswith("absent") for name in arguments),
    ]


def test_the_environment_chooses_too(xlbridge: Xlbridge) -> None:
    done = xlbridge("resolve", "1", "--as", "applied", XLBRIDGE_LANG="pt-BR")
    assert done.returncode == 2
    assert "Erro: Falta a opção '--reason'." in done.stderr
    helped = xlbridge("validate", "--help", XLBRIDGE_LANG="pt-BR").stdout
    assert helped.startswith("Uso: xlbridge validate [OPÇÕES]")
    assert "\nOpções:\n" in helped
    assert "Mostra esta mensagem e sai." in helped
    assert "[padrão: text]" in helped


@pytest.mark.parametrize(
    "arguments",
    [
        ("--lang", "pt-BR", "listings", "--help"),
        ("listings", "--lang", "pt-BR", "--help"),
        ("listings", "--help", "--lang=pt-BR"),
        ("batch", "run", "--help", "--lang", "pt-BR"),
    ],
)
def test_the_language_may_be_chosen_after_the_command(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    set_language("en")
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("Uso: xlbridge")


def test_an_unknown_language_is_reported_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments in (["resources", "--lang", "de"], ["resources", "--lang=de"]):
        assert main(arguments) == 2
        assert "'--lang': 'de' is not one of 'pt-BR', 'en'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "--sheet", "x", "--lang"),
        ("validate", "--", "--lang", "en"),
    ],
)
def test_a_lang_option_without_a_language_stays_in_place(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert "--lang" in output.out + output.err


def test_placeholders_are_in_the_chosen_language(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--lang", "pt-BR", "validate", "--help"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("Uso: xlbridge validate [OPÇÕES] ARQUIVOS...")
    for value in ("--resource TEXTO", "--schemas PASTA", "--limit N", "--profile NOME"):
        assert value in output
    assert main(["--lang", "pt-BR", "template", "--help"]) == 0
    assert "[RECURSO]" in capsys.readouterr().out
    set_language("en")
    assert main(["validate", "--help"]) == 0
    assert "validate [OPTIONS] FILES..." in capsys.readouterr().out


@pytest.mark.parametrize("language", ["pt-BR", "en"])
@pytest.mark.parametrize("command", [(), ("batch",)])
def test_lists_of_commands_do_not_truncate_sentences(
    xlbridge: Xlbridge, language: str, command: tuple[str, ...]
) -> None:
    usage, *output = xlbridge(*command, "--help", XLBRIDGE_LANG=language).stdout.splitlines()
    assert usage.endswith("...")
    assert len(output) > 5
    assert not [line for line in output if line.endswith("...")]


def commands(group: click.Group, *before: str) -> Iterator[tuple[str, click.Command]]:
    """Every command with its name, those of groups below them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield " ".join([*before, name]), found
        if isinstance(found, click.Group):
            yield from commands(found, *before, name)


def test_help_ends_with_valid_examples() -> None:
    # Commands keep the help option of their first context, which this parent gives them.
    parent = root.make_context("xlbridge", [], resilient_parsing=True)
    known = {"": root, **dict(commands(root))}
    assert known.keys() == EXAMPLES.keys()
    for name, lines in EXAMPLES.items():
        end = known[name].get_help(click.Context(known[name], parent)).splitlines()[-len(lines) :]
        assert [line.strip() for line in end] == [f"xlbridge {line}" for line in lines]
        for line in lines:
            words = shlex.split(line)
            assert words[: len(name.split())] == name.split()
            longest = max((n for n in known if line.startswith(n)), key=len)
            parser = known[longest].make_parser(click.Context(known[longest], parent))
            given = words[len(longest.split()) :]
            _, rest, _ = parser.parse_args(list(given))
            assert rest == [], line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["valdate"], "'validate'?"),
        (["batch", "pln"], "'plan'?"),
        (["template", "clente"], "Did you mean cliente?"),
        (["export", "clente", "-o", "a.xlsx"], "Did you mean clientes?"),
        (["whoami", "--profile", "homolog"], "Did you mean homologacao?"),
    ],
)
def test_mistyped_names_have_a_suggestion(
    xlbridge: Xlbridge, home: Path, arguments: list[str], expected: str
) -> None:
    home.mkdir(exist_ok=True)
    (home / "profiles.toml").write_text(
        '[profiles.homologacao]\nbase_url = "https://h.example"\nemail = "a@h.example"\n', "utf-8"
    )
    done = xlbridge(*arguments)
    assert done.returncode == 2
    assert expected in done.stderr


@pytest.mark.parametrize("name", ["cliente", "clientes", "Cliente", "CLIENTES"])
def test_a_resource_and_a_listing_are_known_by_either_name(catalogue: Catalogue, name: str) -> None:
    assert catalogue.named(name).name == "cliente"
    assert find_listing(name).name == "clientes"


def test_a_name_close_to_two_others_is_neither() -> None:
    assert resolve_name("pessoa", ["pessoas", "Pessoa-s"]) is None
    assert resolve_name("pessoas", ["pessoas", "pessoa"]) == "pessoas"
    assert resolve_name("nota fiscal de serviço", ["nota-fiscal-de-servico"]) is not None
