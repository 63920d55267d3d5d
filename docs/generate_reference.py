"""Write the reference pages from the code, in one language.

Run from the project's folder::

    .venv/bin/python docs/generate_reference.py en [FOLDER]
    .venv/bin/python docs/generate_reference.py pt-BR [FOLDER]

The pages go to ``docs/reference`` or ``FOLDER``: those for users in both languages, those for
developers and the JSON Schemas in English. A test fails if they are outdated.
"""

import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from string import Formatter
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin
from uuid import UUID

import click
from interface_table import interface
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from sheets_table import sheets

from xlbridge.batch.plan_steps import plan_format
from xlbridge.cli.help import translate_click
from xlbridge.cli.main import root
from xlbridge.errors import UsageError
from xlbridge.export import LISTINGS, Filter, Listing
from xlbridge.export.layout import require_records_of
from xlbridge.i18n import Text, active_language, parse_language, set_language
from xlbridge.resources import KEY, Column, Resource, load_catalogue, schema_file_format
from xlbridge.resources.checks import CATALOGUE, ROW_RULES, RULES
from xlbridge.resources.findings import SEVERITY_WORDS, FindingKind
from xlbridge.resources.quirks_file import quirks_format
from xlbridge.validation.mapping import mapping_format
from xlbridge.wire import OPERATIONS, Operation

Lines = Iterator[str]

_FOLDER = Path(__file__).parent / "reference"
_COLUMNS = "100"
_NOTICE = (
    "<!-- Written by docs/generate_reference.py: change the code, then run `make reference`. -->"
)
_NO_EXPORT = Text(
    pt="nenhuma, pois [nenhuma listagem mostra esses registros]"
    "(../assumptions.pt-BR.md#sem-exportação)",
    en="none, as [no listing shows such records](../assumptions.md#without-an-export)",
)
_PLAIN_TYPES: Mapping[Any, str] = {
    int: "int",
    str: "string",
    bool: "boolean",
    Decimal: "number",
    datetime: "datetime",
    UUID: "string (UUID)",
    Any: "any",
}


def commands() -> Lines:
    """Every command's own help."""
    yield _say("# Comandos", "# Commands")
    yield _say(
        "O que `--help` mostra. Códigos de saída, ambiente e documentos JSON:\n"
        "[para integradores](../how-to/integrator.pt-BR.md).",
        "What `--help` prints. Exit codes, environment and JSON documents:\n"
        "[for integrators](../how-to/integrator.md).",
    )
    yield from _help()
    context = click.Context(root)
    for name in root.list_commands(context):
        yield from ("", f"## {name}", *_help(name))
        command = root.get_command(context, name)
        for part in command.list_commands(context) if isinstance(command, click.Group) else ():
            yield from ("", f"### {name} {part}", *_help(name, part))


def resources() -> Lines:
    """Every importable resource: its columns, rules and import paths."""
    yield _say("# Recursos", "# Resources")
    yield _say(
        "O que pode ser importado. A fonte de cada um é o arquivo dele em `schemas/`.",
        "What can be imported. The source of each is its file in `schemas/`.",
    )
    for resource in load_catalogue().values():
        yield from _resource(resource)


def findings() -> Lines:
    """Every finding."""
    yield _say("# Achados", "# Findings")
    yield _say(
        "O que `validate` pode encontrar, pelo código, que é estável. As palavras entre chaves são "
        "preenchidas a cada vez.",
        "What `validate` can find, by its stable code. Words in braces are filled in each time.",
    )
    for kind in CATALOGUE.values():
        yield from _finding(kind)


def operations() -> Lines:
    """Every operation of the interface, and the objects that go over the wire."""
    yield "# Operations"
    yield "What the client can call and the sandbox answers, as `xlbridge/wire/operations`"
    yield "declares it. *Retryable*: sent again with backoff when its answer is lost."
    sections = dict.fromkeys(operation.section for operation in OPERATIONS.values())
    for section in sections:
        yield from ("", f"## {section}")
        for operation in OPERATIONS.values():
            if operation.section == section:
                yield from _operation(operation)
    yield from ("", "## Objects")
    yield "Fields as the interface spells them; on reading, the other spelling of the first letter"
    yield "is accepted and unknown fields are ignored."
    for model in sorted(_all_models(), key=lambda model: model.__name__):
        yield from _model(model)


def listings() -> Lines:
    """Every listing that can be exported."""
    yield _say("# Listagens", "# Listings")
    yield _say(
        "O que `xlbridge export` pode gravar, como `xlbridge/export/all_listings.py` declara.",
        "What `xlbridge export` can write, as `xlbridge/export/all_listings.py` declares it.",
    )
    for listing in LISTINGS.values():
        yield from _listing(listing)


PAGES: Mapping[str, Callable[[], Lines]] = {
    "commands": commands,
    "resources": resources,
    "findings": findings,
    "listings": listings,
}
"""The pages for users, by file name without the language."""

ENGLISH_PAGES: Mapping[str, Callable[[], Lines]] = {
    "operations.md": operations,
    "interface.md": interface,
    "sheets.md": sheets,
}
"""The pages for developers, by file name."""

SCHEMA_PAGES = {
    "resource.schema.json": schema_file_format,
    "batch.schema.json": plan_format,
    "mapping.schema.json": mapping_format,
    "quirks.schema.json": quirks_format,
}
"""What the files that people write may hold, for editors."""


def write_pages(folder: Path) -> None:
    """Write the pages of the active language into a folder, created if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        other = _say(f"*[In English]({name}.md)*", f"*[Em português]({name}.pt-BR.md)*")
        _write(folder / _file(name), page, other, "")
    if active_language() != "en":
        return
    for name, page in ENGLISH_PAGES.items():
        _write(folder / name, page)
    for name, form in SCHEMA_PAGES.items():
        schema = json.dumps(form(), ensure_ascii=False, indent=2) + "\n"
        (folder / name).write_text(schema, encoding="utf-8")


def _write(file: Path, page: Callable[[], Lines], *below_title: str) -> None:
    title, *rest = page()
    text = "\n".join((title, "", *below_title, _NOTICE, "", *rest)) + "\n"
    file.write_text(text, encoding="utf-8")


def _file(name: str) -> str:
    return _say(f"{name}.pt-BR.md", f"{name}.md")


def _say(pt: str, en: str) -> str:
    return str(Text(pt=pt, en=en))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Lines:
    yield from ("", f"| {' | '.join(header)} |", f"|{'---|' * len(header)}")
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _code(*names: str) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _help(*command: str) -> Lines:
    printed = io.StringIO()
    with redirect_stdout(printed):
        root.main([*command, "--help"], prog_name="xlbridge", standalone_mode=False)
    yield from ("", "```text", *printed.getvalue().rstrip().splitlines(), "```")


def _resource(resource: Resource) -> Lines:
    yield from ("", f"## {resource.name}", "")
    yield f"{resource.title}. {resource.description}"
    yield ""
    if resource.section:
        section = _say("Seção da descrição da interface", "Section of the interface's description")
        yield f"- {section}: {resource.section}"
    yield from _ways(resource)
    filled = _say(
        "Preenchido por `export --as-template` a partir de", "Filled by `export --as-template` from"
    )
    yield f"- {filled}: {', '.join(_filling(resource)) or _NO_EXPORT}"
    keys = _code(*resource.natural_keys) or _say("nenhuma", "none")
    yield f"- {_say('Chaves naturais', 'Natural keys')}: {keys}"
    fingerprint = _say("impressão digital", "fingerprint")
    layout = _say("Leiaute", "Layout")
    yield f"- {layout} {resource.layout}, {fingerprint} `{resource.fingerprint}`"
    yield from _columns(resource)
    for child in resource.children:
        yield from ("", f"### {resource.name}: {_say('planilha', 'sheet')} {child.sheet}", "")
        yield f"{child.title}. {child.description}"
        yield from _columns(child)
    if resource.children:
        between = _say("Entre as planilhas:", "Between the sheets:")
        yield from ("", between, "", *_rules_between_sheets(resource))


def _filling(resource: Resource) -> Iterator[str]:
    """Yield the listings that hold the records of a resource."""
    for name, listing in LISTINGS.items():
        with suppress(UsageError):
            require_records_of(listing, resource)
            yield f"[{name}]({_file('listings')}#{name})"


def _columns(resource: Resource) -> Lines:
    header = _say(
        "Coluna|Título|Tipo|Obrigatória|Regras|Exemplo|Descrição",
        "Column|Title|Kind|Required|Rules|Example|Description",
    )
    yield from _table(header.split("|"), map(_column_cells, resource.columns))
    if resource.row_checks:
        yield from ("", _say("Entre colunas e linhas:", "Across columns and rows:"), "")
    for check in resource.row_checks:
        yield f"- {ROW_RULES[check.name].wording(check.statistics)}"


def _rules_between_sheets(resource: Resource) -> Lines:
    yield _say(
        f"- `{KEY}` de cada linha de uma lista é a de uma linha da planilha principal",
        f"- `{KEY}` of each row of a list is that of a row of the main sheet",
    )
    if resource.needs_children:
        lists = _say(" ou ", " or ").join(map(_code, resource.needs_children))
        yield _say(f"- cada registro tem linhas em {lists}", f"- each record has rows in {lists}")
    for declared in resource.sums:
        total = (
            f"{declared.number:g}"
            if declared.number is not None
            else _code(*([declared.total] if declared.total else declared.product.columns))
        )
        of_products = _say(
            f" (a soma do produto delas em `{declared.product.sheet}`)",
            f" (the sum of their product in `{declared.product.sheet}`)",
        )
        adds_up = _say(
            f"- a soma de `{declared.column}` em `{declared.sheet}` é {total}",
            f"- `{declared.column}` in `{declared.sheet}` adds up to {total}",
        )
        yield f"{adds_up}{of_products if declared.product.columns else ''}"


def _ways(resource: Resource) -> Lines:
    paths = resource.paths
    if resource.is_imported:
        direct = _say("Importação direta e prévia", "Direct import and preview")
        yield f"- {direct}: {_route(paths.direct, resource)}"
        then = (
            _say(
                "o arquivo espera até que processar-arquivo seja chamado para ele",
                "the file waits until processar-arquivo is called for it",
            )
            if paths.needs_processar
            else _say("o arquivo é processado sozinho", "the file is processed by itself")
        )
        queue = (
            f"{_route(paths.queue, resource)}; {then}"
            if paths.queue_name
            else _say("nenhuma", "none")
        )
        yield f"- {_say('Fila', 'Queue')}: {queue}"
    if resource.create is not None:
        singly = _say("Registro por registro", "Record by record")
        yield f"- {singly}: {_route(resource.create.operation, resource)}"


def _route(operation: Operation, resource: Resource) -> str:
    path = operation.path.replace("{resource}", resource.name)
    return f"`{operation.method} {path}`"


def _column_cells(column: Column) -> tuple[str, ...]:
    rules = [str(RULES[name].wording(values)) for name, values in column.checks.items()]
    if column.references:
        rules.append(_say(f"um registro de {column.references}", f"a {column.references}"))
    return (
        _code(column.name),
        str(column.title),
        column.kind,
        _say("sim", "yes") if column.required else _say("não", "no"),
        "; ".join(rules),
        _example(column.example),
        str(column.description),
    )


def _example(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return _code("TRUE" if value else "FALSE")
    return _code(value.isoformat() if isinstance(value, date) else str(value))


def _finding(kind: FindingKind) -> Lines:
    yield from ("", f"## {kind.code}", "", f"*{SEVERITY_WORDS[kind.severity]}*", "")
    yield f"{_template(kind.message)} → {_template(kind.hint)}"


def _template(text: Text) -> Text:
    """Return a message with its placeholders, in the plural."""
    names = (name for _, name, _, _ in Formatter().parse(text.en) if name)
    return text.format(**{name: f"{{{name}}}" for name in names})


def _operation(operation: Operation) -> Lines:
    yield from ("", f"### {operation.name}", "")
    yield f"`{operation.method} {operation.path}`"
    yield ""
    for name, kind in operation.path_parameters.items():
        yield f"- Path: `{name}` {_PLAIN_TYPES[kind]}"
    if operation.query:
        yield f"- Query: {_link(operation.query)}"
    if operation.body:
        yield f"- Body: {_link(operation.body)}"
    if operation.upload:
        yield "- Body: a multipart form with one .xlsx file, in the field `ArquivoExcel`"
    place = "in the envelope's `data`" if operation.enveloped else "without an envelope"
    yield f"- Answer: {_type_name(operation.data)}, {place}"
    yield f"- Token: {'needed' if operation.authenticated else 'not needed'}"
    yield f"- Retryable: {'yes' if operation.retryable else 'no'}"


def _model(model: type[BaseModel]) -> Lines:
    yield from ("", f"### {model.__name__}")
    rows = [
        (_code(name), _type_name(field.annotation), _presence(field))
        for name, field in model.model_fields.items()
    ]
    yield from _table(("Field", "Type", "Required"), rows)


def _presence(field: FieldInfo) -> str:
    if field.is_required():
        return "yes"
    default = field.get_default(call_default_factory=True, validated_data={})
    return "no" if default in (None, []) else f"no; `{default}` without it"


def _link(model: type[BaseModel]) -> str:
    return f"[{model.__name__}](#{model.__name__.lower()})"


def _type_name(annotation: Any) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " or ".join(_type_name(part) for part in parts if part is not type(None))
    if origin is Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if origin is list:
        return f"list of {_type_name(parts[0])}"
    if origin is dict:
        return "object"
    if hasattr(annotation, "__metadata__"):
        return _type_name(parts[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _link(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(f"`{member.value}`" for member in annotation)
    return _PLAIN_TYPES[annotation]


def _all_models() -> set[type[BaseModel]]:
    found: set[type[BaseModel]] = set()
    for operation in OPERATIONS.values():
        for annotation in (operation.query, operation.body, operation.data):
            _collect(annotation, found)
    return found


def _collect(annotation: Any, found: set[type[BaseModel]]) -> None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        found.add(annotation)
        for field in annotation.model_fields.values():
            _collect(field.annotation, found)
    for part in get_args(annotation):
        _collect(part, found)


def _listing(listing: Listing) -> Lines:
    yield from ("", f"## {listing.name}", "", f"{listing.title}.", "")
    yield f"- {_say('De', 'From')}: {_call(listing.operation)}"
    if (by_key := listing.per_record) and by_key.source is None:
        yield _say(
            "- Uma vez para cada número de `--id`, ou do diário deste computador",
            "- Once for each number of `--id`, or of this computer's journal",
        )
    elif by_key and by_key.source:
        each = _say("Uma vez para cada registro de", "Once for each record of")
        counter = _say(
            f", e cada `{by_key.counter}` a partir de 1", f", and each `{by_key.counter}` from 1 on"
        )
        yield f"- {each}: {_code(by_key.source.name)}{counter if by_key.counter else ''}"
    for name, operation in listing.path_filters.items():
        yield f"- {_say(f'Com `--{name}`, de', f'With `--{name}`, from')}: {_call(operation)}"
    if listing.details:
        each = _say("Com `--with-files`, cada registro de", "With `--with-files`, each record from")
        yield f"- {each}: {_call(listing.details[0])}"
    yield f"- {_say('Filtros', 'Filters')}: {_options(listing.filters) or _say('nenhum', 'none')}"
    if listing.required:
        yield f"- {_say('Exige', 'Needs')}: {_options(listing.required)}"
    yield from _reservations(listing)
    yield f"- {_say('Chave', 'Key')}: {_code(*listing.key)}"
    if listing.cap:
        yield _say(
            f"- Limite: {listing.cap} registros em uma resposta; períodos mais cheios se dividem",
            f"- Cap: {listing.cap} records in one answer; fuller windows are split",
        )
    for sheet in listing.sheets:
        columns = [f"`{column.name}` {column.kind}" for column in sheet.columns]
        heading = _say(
            f"Planilha **{sheet.name}**, {len(columns)} colunas",
            f"Sheet **{sheet.name}**, {len(columns)} columns",
        )
        yield from ("", f"{heading}: {', '.join(columns)}.")


def _reservations(listing: Listing) -> Lines:
    """Yield the caveats of the filters of a listing."""
    if listing.per_value:
        sources = _code(*(source.name for source in listing.per_value.sources))
        once = _say(
            f"Uma vez para cada `--{listing.per_value.filter}`; sem ele, para os que estão em",
            f"Once for each `--{listing.per_value.filter}`; without it, for those in",
        )
        yield f"- {once}: {sources}"
    if listing.undocumented:
        guessed = _say("Filtros cujo nome é suposto", "Filters whose names are a guess")
        yield f"- {guessed}: {_options(sorted(listing.undocumented))}"
    if listing.local_filters:
        own = _say("Filtros aplicados pelo xlbridge", "Filters applied by xlbridge")
        yield f"- {own}: {_options(sorted(listing.local_filters))}"


def _call(operation: Operation) -> str:
    return _code(f"{operation.method} {operation.path}")


def _options(names: Iterable[Filter]) -> str:
    return _code(*(f"--{name}" for name in names))


def main(language: str, folder: str | Path = _FOLDER) -> None:
    """Write the pages in a language, at a fixed width."""
    os.environ["COLUMNS"] = _COLUMNS
    set_language(parse_language(language) or "en")
    translate_click()
    write_pages(Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
