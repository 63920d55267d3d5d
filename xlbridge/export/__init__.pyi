from .all_listings import (
    LISTINGS as LISTINGS,
    find_listing as find_listing,
)
from .export import (
    ExportRequest as ExportRequest,
    PreparedExport as PreparedExport,
    export_frames as export_frames,
)
from .fetcher import ExportProgress as ExportProgress
from .filters import (
    Filter as Filter,
    Filters as Filters,
    InvalidFilter as InvalidFilter,
    ValueKind as ValueKind,
)
from .formats.all_formats import (
    FORMATS as FORMATS,
    OutputFile as OutputFile,
)
from .listing_model import Listing as Listing
from .refresh import open_refresh as open_refresh
from .result import ExportResult as ExportResult
