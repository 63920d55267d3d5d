"""By which headers the columns of a sheet are known."""

import unicodedata
from collections.abc import Iterable

from xlbridge.resources.column import Column


def plain(header: str) -> str:
    """Return a header as it is compared: no case, accents or marks of requirement."""
    parts = unicodedata.normalize("NFKD", header)
    text = "".join(part for part in parts if not unicodedata.combining(part))
    return " ".join(text.split()).rstrip(" *").casefold()


def header_names(columns: Iterable[Column]) -> dict[str, str]:
    """Map every header that names a column, as it is compared, to the column's name.

    The wire names go before the titles in both languages.
    """
    columns = tuple(columns)
    titles = {
        plain(title): column.name
        for column in columns
        for title in (column.title.pt, column.title.en)
    }
    return titles | {plain(column.name): column.name for column in columns}
