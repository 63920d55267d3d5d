from .model import (
    DAY_FORMAT as DAY_FORMAT,
    MAX_LENGTHS as MAX_LENGTHS,
    Attachment as Attachment,
    Envelope as Envelope,
    ErrorItem as ErrorItem,
    Operation as Operation,
    WireModel as WireModel,
    fields_in_order as fields_in_order,
    format_moment as format_moment,
    parse_moment as parse_moment,
    record_model as record_model,
    spellings as spellings,
    wire_model as wire_model,
    with_spellings as with_spellings,
)
from .operations import OPERATIONS as OPERATIONS
