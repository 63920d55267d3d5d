"""Every message exists in both languages, with the same placeholders."""

import ast
import re
import string
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from environment import ROOT

import xlbridge
from xlbridge.i18n import (
    Text,
    count_text,
    joined,
    language_from_environment,
    override_language,
    set_language,
    shown_on_page,
)
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.resources.yaml_files import YamlDocument, read_document

COUNTED = re.compile(
    r"\{\w+\} (arquivos|linhas|registros|erros|avisos|partes|períodos|anexos|casas|códigos|\w+adas"
    r"|novas|aceitas|workbooks|files|rows|records|errors|warnings|parts|windows|decimal places)\b"
)
"""A count followed by words that only fit the plural."""
AGREEING = re.compile(r"\{\w+:[^|{}]*\|(?:[^{}]|\{[^{}]*\})*\}")
ALWAYS_SEVERAL = {"filters.py", "forms.py"}
"""Modules whose counts are always above a limit of hundreds."""

IN_CODE = re.compile(
    r"`[^`]*`|xlbridge( [\w-]+)+|erp\.\w+|--[\w-]+|\w*[=({][\w.|:!\u2026 ]*[)}]|\w+=[\w.]+"
    r"|<[^>]*>|\]\([^)]*\)"
)
"""Parts of texts that are not words for people."""
NAMED = re.compile(r"```.*?```|(?<!\*)\*[^*\n]+\*(?!\*)", re.DOTALL)
"""Commands, and names of buttons, in a guide."""

PURCHASE = re.compile(r"\brequisi(ção|ções)\b|\brequests?\b", re.IGNORECASE)
"""A document of purchasing, in schema files; in texts the word would be a call of the system."""
PURCHASES = re.compile(r"\brequisi(ção|ções) de (compra|estoque)\b", re.IGNORECASE)
"""The same where it is named in full."""

FOR_DEVELOPERS = {
    "answers.md",
    "architecture.md",
    "assumptions.md",
    "glossary.md",
    "integrator.md",
    "library.md",
    "performance.md",
    "upload-protocol.md",
}
"""English pages that speak of JSON and of the interface, in their words."""

SOURCES = sorted(Path(xlbridge.__file__).parent.rglob("*.py"))


LANGUAGE_PAIRS = (("pt", "en"), ("hint_pt", "hint_en"))
"""Arguments with a text in each language, of messages, findings and the help of options alike."""


@cache
def texts(path: Path) -> list[tuple[int, str, str]]:
    found: list[tuple[int, str, str]] = []
    source = path.read_text(encoding="utf-8")
    if "pt=" not in source:
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            parts = {k.arg: k.value for k in node.keywords}
            for names in LANGUAGE_PAIRS:
                values = [getattr(parts.get(name), "value", None) for name in names]
                if all(isinstance(value, str) for value in values):
                    found.append((node.lineno, str(values[0]), str(values[1])))
    return found


def schema_content(path: Path) -> Any:
    document = read_document(path)
    assert isinstance(document, YamlDocument)
    return document.content


def titles(content: Any, language: str) -> Iterator[str]:
    """Yield the titles and descriptions in a schema file."""
    keys = {"pt": ("title", "description"), "en": ("title_en", "description_en")}[language]
    if isinstance(content, dict):
        yield from (str(content[key]) for key in keys if isinstance(content.get(key), str))
        content = list(content.values())
    if isinstance(content, list):
        for one in content:
            yield from titles(one, language)


def test_schema_files_have_titles_in_both_languages() -> None:
    content = schema_content(ROOT / "schemas" / "cliente.yaml")
    assert "Clientes" in titles(content, "pt")
    assert "Clients" in titles(content, "en")


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_languages_have_the_same_placeholders() -> None:
    found = [(path.name, line, pt, en) for path in SOURCES for line, pt, en in texts(path)]
    assert len(found) > 150
    differing = [entry for entry in found if placeholders(entry[2]) != placeholders(entry[3])]
    assert differing == []


def test_no_message_is_empty_in_either_language() -> None:
    blank = [
        (path.name, line) for path in SOURCES for line, pt, en in texts(path) if not pt or not en
    ]
    assert blank == []


@pytest.mark.parametrize(("language", "known"), [("pt", "retida"), ("en", "payload")])
def test_texts_use_the_words_of_the_glossary(language: str, known: str) -> None:
    """Commands, options and placeholders keep their names."""
    rows = (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines()
    place = {"pt": 4, "en": 5}[language]
    avoided = [row.split("|")[place] for row in rows if row.startswith("| ")]
    words = [word.strip() for cell in avoided for word in cell.split(",")]
    words = [word for word in words if word != "–" and not word.startswith("Not in ")]
    assert known in words
    wrong = re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)
    found = [
        (f"{path.name}:{line}", pt if language == "pt" else en)
        for path in SOURCES
        for line, pt, en in texts(path)
    ]
    for path in (ROOT / "schemas").rglob("*.yaml"):
        named = titles(schema_content(path), language)
        found += [(path.name, PURCHASE.sub("", text)) for text in named]
    plans = [*(ROOT / "samples").glob("**/plan.yaml"), *(ROOT / "samples").glob("move_company/*")]
    layouts = (ROOT / "xlbridge" / "validation" / "mapping" / "layouts").glob("*.yaml")
    for path in (*plans, *layouts):
        # Names of plans and steps, and titles of mappings, are shown in both languages.
        content = schema_content(path) if path.suffix == ".yaml" else {}
        named = [content.get(key) for key in ("name", "title")]
        found += [(path.name, str(name)) for name in [*named, *content.get("steps", ())] if name]
    # The texts of the reference are checked where they are declared.
    pages = [*ROOT.glob("README*.md"), *(ROOT / "docs").rglob("*.md")]
    for path in [path for path in pages if path.parent.name != "reference"]:
        is_portuguese = path.name.endswith(".pt-BR.md")
        if is_portuguese == (language == "pt") and path.name not in FOR_DEVELOPERS:
            text = " ".join(NAMED.sub("", path.read_text("utf-8")).split())
            speaks_of_purchases = path.name == "assumptions.pt-BR.md"
            found.append((path.name, PURCHASE.sub("", text) if speaks_of_purchases else text))
    spoken = [(place, PURCHASES.sub("", IN_CODE.sub("", text))) for place, text in found]
    assert [(place, wrong.findall(text)) for place, text in spoken if wrong.search(text)] == []


def test_plural_forms_follow_the_number() -> None:
    text = Text(
        pt="{n} {n:linha aceita|linhas aceitas}; {of:a única|as {of} outras}",
        en="{n} {n:row|rows} accepted; {of:the only one|the {of} others}",
    )
    several, one = text.format(n=0, of=2), text.format(n=1, of=1)
    assert several == Text(pt="0 linhas aceitas; as 2 outras", en="0 rows accepted; the 2 others")
    assert one == Text(pt="1 linha aceita; a única", en="1 row accepted; the only one")


def lacks_singular_form(message: str) -> bool:
    return bool(COUNTED.search(AGREEING.sub("", message)))


def test_the_page_groups_the_thousands_of_counts() -> None:
    message = Text(pt="{n} {n:linha|linhas}", en="{n} {n:row|rows}")
    assert message.format(n=count_text(1)) == Text(pt="1 linha", en="1 row")
    assert message.format(n=count_text(3000)).pt == "3000 linhas"
    with shown_on_page():
        assert message.format(n=count_text(1)) == Text(pt="1 linha", en="1 row")
        assert message.format(n=count_text(3000)) == Text(pt="3.000 linhas", en="3,000 rows")


def test_the_page_shows_its_own_words() -> None:
    resume = Text(
        pt="xlbridge resume {job}",
        en="xlbridge resume {job}",
        page=Text(pt="Continue {job} em Envios.", en="Resume {job} under Uploads."),
    )
    whole = Text(pt="Parou. {then}", en="It stopped. {then}").format(then=resume.format(job="J1"))
    both = joined([whole, Text(pt="Fim", en="End")])
    with override_language("en"):
        assert str(both) == "It stopped. xlbridge resume J1; End"
        with shown_on_page():
            assert str(both) == "It stopped. Resume J1 under Uploads.; End"


def test_messages_with_counts_have_singular_forms() -> None:
    assert lacks_singular_form("{n} rows were sent")
    found = {(path.name, text) for path in SOURCES for _, *both in texts(path) for text in both}
    wrong = {entry for entry in found if lacks_singular_form(entry[1])}
    assert {name for name, _ in wrong} == ALWAYS_SEVERAL, wrong


def test_messages_put_no_endings_in_parentheses() -> None:
    """A count chooses the form, as in ``{n:linha|linhas}``, or a colon avoids it: ``linhas: 2``."""
    endings = re.compile(r"\w\((s|es|ões|ns|a|as)\)")
    found = {(path.name, text) for path in SOURCES for _, *both in texts(path) for text in both}
    assert endings.search("2 linha(s)")
    assert [one for one in found if endings.search(one[1])] == []


VERBS = (("recus", "refus"), ("rejei", "reject"))
"""Files are refused by xlbridge, rows are rejected by the system: docs/README.md, Terms."""


def verbs_of_refusal(text: str, language: int) -> set[str]:
    """Return which of the verbs are in a text, as their Portuguese stems."""
    words = re.sub(r"\{\w+\}", "", text.casefold())
    return {verb[0] for verb in VERBS if verb[language] in words}


def test_refused_and_rejected_are_the_same_verb_in_both_languages() -> None:
    found = {(path.name, pt, en) for path in SOURCES for _, pt, en in texts(path)}
    with_verbs = {
        one for one in found if verbs_of_refusal(one[1], 0) or verbs_of_refusal(one[2], 1)
    }
    assert len(with_verbs) > 40
    wrong = [
        one for one in with_verbs if verbs_of_refusal(one[1], 0) != verbs_of_refusal(one[2], 1)
    ]
    assert wrong == []


def test_the_system_rejects_and_does_not_refuse() -> None:
    found = {(path.name, text) for path in SOURCES for _, *both in texts(path) for text in both}
    systems = re.compile(r"(o sistema|the system)\b[^.;:]*\b(recus|refus)", re.IGNORECASE)
    assert [one for one in found if systems.search(one[1])] == []


@pytest.mark.parametrize("code", list(CATALOGUE))
def test_catalogue_codes_are_stable_words(code: str) -> None:
    kind = CATALOGUE[code]
    assert kind.code == code
    assert code.replace("-", "").isalpha()
    assert code.islower()
    names = placeholders(kind.message.pt) | placeholders(kind.hint.pt)
    finding = Finding(kind, details=dict.fromkeys(names, "x"))
    assert str(finding.message)
    assert str(finding.hint)


def test_nested_texts_follow_the_chosen_language() -> None:
    inner = Text(pt="uma", en="one")
    outer = Text(pt="só {n}", en="only {n}").format(n=inner)
    set_language("pt-BR")
    assert str(outer) == "só uma"
    set_language("en")
    assert str(outer) == "only one"


def test_language_applies_to_all_threads_and_its_override_to_one() -> None:
    text = Text(pt="uma", en="one")
    set_language("pt-BR")
    with ThreadPoolExecutor(1) as threads, override_language("en"):
        assert (str(text), threads.submit(str, text).result()) == ("one", "uma")
    assert str(text) == "uma"
    set_language("en")


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"XLBRIDGE_LANG": "pt-BR", "LANG": "en_US.UTF-8"}, "pt-BR"),
        ({"XLBRIDGE_LANG": "en", "LANG": "pt_BR.UTF-8"}, "en"),
        ({"LANG": "pt_BR.UTF-8"}, "pt-BR"),
        ({"LANG": "Portuguese_Brazil.1252"}, "pt-BR"),
        ({"LC_ALL": "de_DE", "LANG": "pt_BR"}, "en"),
    ],
)
def test_environment_variables_select_the_language(
    environment: dict[str, str], language: str
) -> None:
    assert language_from_environment(environment) == language
