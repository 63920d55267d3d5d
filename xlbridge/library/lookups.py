"""Look-ups: the resources that can be imported, and the listings that can be exported."""

from collections.abc import Mapping
from os import PathLike

from xlbridge.export import LISTINGS, Listing
from xlbridge.resources import Resource, load_catalogue
from xlbridge.settings import read_settings


def available_resources(schemas: str | PathLike[str] | None = None) -> Mapping[str, Resource]:
    """Return the resources that can be imported, by name: the shipped ones, then one's own.

    Each has its ``title``, ``columns`` (with name, kind, obligation and checks), ``required``
    columns and ``modes``. ``schemas`` is a folder of own schema files in place of the one in
    ``XLBRIDGE_HOME``. Raises ``SchemaFileError`` when one of those files is wrong.
    """
    return load_catalogue(schemas or read_settings().schemas)


def available_listings() -> Mapping[str, Listing]:
    """Return the listings that can be exported, by name.

    Each has its ``title``, ``sheets`` with their columns, and the ``filters`` that it takes, of
    which some are ``required``.
    """
    return LISTINGS
