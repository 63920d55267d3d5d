"""Options of long helps in groups; a short help has one list."""

from collections.abc import Sequence

import click

from xlbridge.i18n import Text

_MOST_UNGROUPED = 8
_WIDEST = 30
"""As click has it: a longer option has its help below."""

_GROUPS: Sequence[tuple[Text, frozenset[str]]] = (
    (
        Text(pt="A planilha e como é lida", en="The sheet and how it is read"),
        frozenset(
            {"--resource", "--sheet", "--all-sheets", "--map", "--dates", "--numbers", "--file"}
            | {"--delimiter", "--encoding", "--link"}
        ),
    ),
    (
        Text(pt="O que é conferido e gravado", en="What is checked and written"),
        frozenset(
            {"--online", "--fix", "--annotate", "--output", "--format", "--limit", "--force"}
            | {"--csv-dialect", "--manifest", "--flat", "--as-template", "--attachments"}
            | {"--with-files", "--keep", "--compare", "--with-lists"}
        ),
    ),
    (
        Text(pt="Quais registros", en="Which records"),
        frozenset(
            {"--from", "--to", "--branch", "--client", "--supplier", "--product", "--account"}
            | {"--cost-centre", "--category", "--project", "--year", "--document", "--idws"}
            | {"--id", "--active", "--settled", "--since-last", "--keep-unknown"}
        ),
    ),
    (
        Text(pt="O que é enviado", en="What is sent"),
        frozenset(
            {"--mode", "--update", "--clear", "--create-unread", "--good-rows", "--again"}
            | {"--chunk-rows", "--at-once", "--read-back", "--preview", "--wait"}
            | {"--all-or-nothing"}
        ),
    ),
    (
        Text(pt="Confirmação", en="Consent"),
        frozenset({"--yes", "--confirm", "--list-rows", "--plan"}),
    ),
    (
        Text(pt="Falhas e sistema de ensaio", en="Faults and practice system"),
        frozenset(
            {"--faults", "--seed", "--seed-number", "--kill", "--db", "--stand-ins", "--strict"}
            | {"--scale", "--token-lifetime", "--request-timeout"}
        ),
    ),
    (
        Text(pt="Ambiente e computador", en="Environment and computer"),
        frozenset(
            {"--profile", "--ca-bundle", "--timeout", "--schemas", "--workers", "--scheduler"}
            | {"--port", "--expose", "--host-name", "--ready-file", "--while-stdin-open"}
        ),
    ),
)
"""Groups of options by title, in the order of a help; an option of none comes before them."""

_OTHERS = Text(pt="Opções", en="Options")


def format_in_groups(
    command: click.Command, context: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command in groups, where there are many."""
    groups: dict[str, list[tuple[str, str]]] = {}
    many = len(command.params) > _MOST_UNGROUPED
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is not None and not isinstance(option, click.Argument):
            title = _title_of(option) if many else _OTHERS
            groups.setdefault(str(title), []).append(record)
    widest = max(min(len(term), _WIDEST) for records in groups.values() for term, _ in records)
    for title in (_OTHERS, *(title for title, _ in _GROUPS)):
        if records := groups.get(str(title)):
            # One term as wide as the widest of all lines the groups up with one another.
            aligned = [(records[0][0].ljust(widest), records[0][1]), *records[1:]]
            with formatter.section(str(title)):
                formatter.write_dl(aligned)


def _title_of(option: click.Parameter) -> Text:
    for title, names in _GROUPS:
        if names.intersection(option.opts):
            return title
    return _OTHERS
