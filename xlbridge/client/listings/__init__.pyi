from .answer import (
    ListingAnswer as ListingAnswer,
    RecordShape as RecordShape,
    record_shape as record_shape,
)
from .stream import (
    FieldTest as FieldTest,
    Numbers as Numbers,
)
from .time_windows import (
    CLOCK_TOLERANCE as CLOCK_TOLERANCE,
    UNBOUNDED_WINDOW as UNBOUNDED_WINDOW,
    UPDATE_FIELD as UPDATE_FIELD,
    Window as Window,
    WindowEnds as WindowEnds,
    WindowSplitter as WindowSplitter,
    complete_listings_for as complete_listings_for,
    listing_cap as listing_cap,
    numbered_records as numbered_records,
    update_time as update_time,
)
