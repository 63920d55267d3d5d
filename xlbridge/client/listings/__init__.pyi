from .answer import (
    ListingAnswer as ListingAnswer,
    record_shape as record_shape,
)
from .records import (
    FieldTest as FieldTest,
    RecordShape as RecordShape,
)
from .stream import Numbers as Numbers
from .time_windows import (
    MINUTE as MINUTE,
    UNBOUNDED_WINDOW as UNBOUNDED_WINDOW,
    UPDATE_FIELD as UPDATE_FIELD,
    Window as Window,
    WindowSplitter as WindowSplitter,
    complete_listings_for as complete_listings_for,
    listing_cap as listing_cap,
    update_time as update_time,
)
