from .bulk_lookup import record_reader as record_reader
from .comparison import RowMatcher as RowMatcher, comparable_value as comparable_value
from .links import (
    LinkResolver as LinkResolver,
    ReferenceProblem as ReferenceProblem,
    ambiguous_link as ambiguous_link,
    comparable_key as comparable_key,
    name_keys as name_keys,
    registry_lists as registry_lists,
    texts_of_column as texts_of_column,
)
from .online_check import OnlineCheck as OnlineCheck
from .snapshot import (
    CODE_SEPARATOR as CODE_SEPARATOR,
    FoundRecord as FoundRecord,
    RecordMatching as RecordMatching,
    RowSnapshot as RowSnapshot,
)
