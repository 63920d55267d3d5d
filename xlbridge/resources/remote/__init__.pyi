from .records import (
    ExistingPolicy as ExistingPolicy,
    Lookup as Lookup,
    ReadBack as ReadBack,
    RecordChange as RecordChange,
    RecordCreation as RecordCreation,
    RecordToRow as RecordToRow,
    SeparateList as SeparateList,
    operation_named as operation_named,
)
