from .export import (
    ExportRequest as ExportRequest,
    OutputFile as OutputFile,
    PreparedExport as PreparedExport,
    export_frames as export_frames,
    prepare_export as prepare_export,
)
from .filters import (
    FILTERS as FILTERS,
    Filter as Filter,
    Filters as Filters,
    InvalidFilter as InvalidFilter,
    ValueKind as ValueKind,
    parse_filters as parse_filters,
)
from .formats.selection import FORMATS as FORMATS
from .formats.text import CSV_DIALECTS as CSV_DIALECTS
from .listing import (
    Listing as Listing,
    check_filters as check_filters,
)
from .listings import (
    LISTINGS as LISTINGS,
    find_listing as find_listing,
)
from .part_store import MAX_RESUME_AGE as MAX_RESUME_AGE
from .result import ExportResult as ExportResult
from .sheets import Sheet as Sheet
from .windows import (
    ExportProgress as ExportProgress,
    OnProgress as OnProgress,
)
