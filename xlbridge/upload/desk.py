"""What every command about uploads works with."""

from dataclasses import dataclass

from xlbridge.resources.catalogue import Catalogue
from xlbridge.settings import Settings
from xlbridge.upload.journal.journal import Journal


@dataclass(frozen=True, slots=True)
class Desk:
    """What every upload needs at hand."""

    settings: Settings
    catalogue: Catalogue
    journal: Journal
