from .quirks_file import (
    format_quirks as format_quirks,
    quirks_format as quirks_format,
    quirks_of_section as quirks_of_section,
    read_quirks as read_quirks,
)
from .record_operations import (
    ExistingPolicy as ExistingPolicy,
    Lookup as Lookup,
    ReadBack as ReadBack,
    RecordChange as RecordChange,
    RecordCreation as RecordCreation,
    RecordToRow as RecordToRow,
    SeparateList as SeparateList,
    are_fields_of_others as are_fields_of_others,
    exported_fields as exported_fields,
    operation_named as operation_named,
)
