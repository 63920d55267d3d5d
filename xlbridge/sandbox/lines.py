"""The lines of documents that a header and numbered lines make up."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, cast

from sqlalchemy import Select, Table, select

from xlbridge.sandbox.call import Call, Model


def lines_of(
    call: Call, model: type[Model], lines: Table, numbers: Select[tuple[int]]
) -> defaultdict[int, list[Model]]:
    """Return the lines of all documents whose numbers a statement finds, by number, in order.

    The table's ``number`` is the document's. What comes from our own tables is not validated
    again.
    """
    construct = cast("Callable[..., Model]", model.model_construct)
    found = select(lines).where(lines.c.number.in_(numbers)).order_by(*lines.primary_key)
    grouped: defaultdict[int, list[Any]] = defaultdict(list)
    for row in call.connection.execute(found).mappings():
        grouped[row["number"]].append(construct(**row))
    return grouped
