from .record_operations import (
    ExistingPolicy as ExistingPolicy,
    Lookup as Lookup,
    ReadBack as ReadBack,
    RecordChange as RecordChange,
    RecordCreation as RecordCreation,
    RecordToRow as RecordToRow,
    SeparateList as SeparateList,
    are_fields_of_others as are_fields_of_others,
    operation_named as operation_named,
)
