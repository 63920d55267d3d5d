from .registries import (
    NamedRecord as NamedRecord,
    Registries as Registries,
    named_record as named_record,
)
