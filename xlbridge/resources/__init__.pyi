from .catalogue import (
    Catalogue as Catalogue,
    load_catalogue as load_catalogue,
    schema_files as schema_files,
)
from .checks.all_rules import pandera_checks as pandera_checks
from .column import ChildSum as ChildSum, Column as Column, Kind as Kind
from .names import normalize_header as normalize_header, strip_accents as strip_accents
from .remote import Mode as Mode
from .resource import (
    KEY as KEY,
    Fingerprint as Fingerprint,
    Resource as Resource,
    RowCheck as RowCheck,
    schema_file_format as schema_file_format,
)
