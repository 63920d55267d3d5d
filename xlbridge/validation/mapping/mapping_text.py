"""Text of mapping files: of a proposal, with its reasons, and of what a person confirmed."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import yaml

from xlbridge.i18n import Text
from xlbridge.validation.mapping.column_fit import foreign_columns
from xlbridge.validation.mapping.proposed_mapping import (
    CONFIDENCE_WORDS,
    MappingProposal,
    ProposedColumn,
)
from xlbridge.workbook.read import SheetCells

_WIDTH = 10_000


def confirmed_mapping_text(
    cells: SheetCells,
    header_row: int,
    resource: str,
    columns: Mapping[str, Mapping[str, Any]],
    rows: Mapping[str, Mapping[str, bool | str]],
    once: Collection[str],
    accept: Sequence[str],
) -> str:
    """Return the text of a mapping file with the ``columns`` that a person confirmed, those of
    lists by path, the words of ``rows`` that are read, and the findings that are right; all other
    headers of the sheet are ignored. The rows of a record repeat the items of the lists ``once``.
    """
    unique, repeated = foreign_columns(cells, header_row - 1)
    header = [*(foreign.header for foreign in unique), *repeated]
    used = {*rows} | {
        name
        for body in columns.values()
        for name in (body.get("from"), body.get("month"), *body.get("join", ()))
    }
    lists: dict[str, dict[str, dict[str, Any]]] = {}
    for path, body in columns.items():
        name, _, rest = path.partition(".")
        number, _, column = rest.partition(".")
        if column:
            lists.setdefault(name, {}).setdefault(number, {})[column] = dict(body)
    content = {
        "version": 1,
        "resource": resource,
        "header": header,
        "columns": {name: dict(body) for name, body in columns.items() if "." not in name},
        "rows": {text: dict(words) for text, words in rows.items()},
        "lists": {
            name: {"once": name in once, "items": [*blocks.values()]}
            for name, blocks in lists.items()
        },
        "ignore": [name for name in header if name not in used],
        "accept": list(accept),
    }
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=_WIDTH)


def mapping_text(proposal: MappingProposal) -> str:
    """Return the text of the proposed file, with the reasons as comments."""
    lines = ["version: 1", f"resource: {proposal.resource.name}"]
    lines += [f"header: {_flow(list(proposal.header))}", "columns:"]
    for column in proposal.columns:
        lines += [f"  # {reason_text(column)}", f"  {column.name}: {_flow(dict(column.body))}"]
    if proposal.lists:
        lines.append("lists:")
    for name, one in proposal.lists.items():
        lines += [f"  {name}:", *(["    once: true"] if one.once else []), "    items:"]
        for block in one.items:
            for number, column in enumerate(block):
                lead = "      " if number else "    - "
                lines.append(f"      # {reason_text(column)}")
                lines.append(f"{lead}{column.name}: {_flow(dict(column.body))}")
    if proposal.rows:
        lines.append("rows:")
    lines += [f"  {_flow(text)}: {_flow(dict(words))}" for text, words in proposal.rows.items()]
    if proposal.accept:
        lines.append(f"accept: {_flow(list(proposal.accept))}")
    if proposal.ignore:
        lines.append("ignore:")
    lines += [f"  - {_flow(header)}  # {why}" for header, why in proposal.ignore.items()]
    return "\n".join(lines) + "\n"


def reason_text(column: ProposedColumn) -> Text:
    """Return the confidence and reason of a proposed column."""
    return Text(pt="{sure}: {why}.", en="{sure}: {why}.").format(
        sure=CONFIDENCE_WORDS[column.confidence], why=column.reason
    )


def _flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=_WIDTH
    )
    return text.removesuffix("...\n").strip()
