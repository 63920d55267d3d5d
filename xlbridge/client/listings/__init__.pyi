from .answer import (
    ENVELOPE_NAMES as ENVELOPE_NAMES,
    ListingAnswer as ListingAnswer,
    is_plain_success as is_plain_success,
    shape_of as shape_of,
)
from .stream import (
    FieldTest as FieldTest,
    ListingReader as ListingReader,
    ParseNumber as ParseNumber,
    RecordShape as RecordShape,
    TruncatedBody as TruncatedBody,
)
from .windows import (
    MINUTE as MINUTE,
    UNBOUNDED_WINDOW as UNBOUNDED_WINDOW,
    UPDATE_FIELD as UPDATE_FIELD,
    Window as Window,
    WindowSplitter as WindowSplitter,
    complete_listings_for as complete_listings_for,
    listing_cap as listing_cap,
    update_time as update_time,
)
