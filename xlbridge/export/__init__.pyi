from .attachments import (
    AttachmentDownloads as AttachmentDownloads,
)
from .export import (
    export_listing as export_listing,
)
from .export import (
    leftover_sheet_files as leftover_sheet_files,
)
from .export import (
    require_replaceable as require_replaceable,
)
from .export import (
    require_writable as require_writable,
)
from .filters import (
    FILTERS as FILTERS,
)
from .filters import (
    Filter as Filter,
)
from .filters import (
    Filters as Filters,
)
from .filters import (
    InvalidFilter as InvalidFilter,
)
from .filters import (
    ValueKind as ValueKind,
)
from .filters import (
    parse_filters as parse_filters,
)
from .formats.base import (
    OpenOutput as OpenOutput,
)
from .formats.selection import (
    FORMATS as FORMATS,
)
from .formats.selection import (
    output_format as output_format,
)
from .formats.selection import (
    output_opener as output_opener,
)
from .formats.selection import (
    output_paths as output_paths,
)
from .formats.text import (
    CSV_DIALECTS as CSV_DIALECTS,
)
from .layout import (
    Layout as Layout,
)
from .listing import (
    Listing as Listing,
)
from .listing import (
    check_filters as check_filters,
)
from .listing import (
    is_repeatable as is_repeatable,
)
from .listings import (
    LISTINGS as LISTINGS,
)
from .listings import (
    find_listing as find_listing,
)
from .result import (
    ExportResult as ExportResult,
)
from .result import (
    LastRuns as LastRuns,
)
from .result import (
    describe_hole as describe_hole,
)
from .result import (
    describe_missing as describe_missing,
)
from .result import (
    manifest_of as manifest_of,
)
from .result import (
    write_manifest as write_manifest,
)
from .sheets import (
    Sheet as Sheet,
)
from .spool import (
    MAX_RESUME_AGE as MAX_RESUME_AGE,
)
from .spool import (
    ResumeStore as ResumeStore,
)
from .windows import (
    ExportProgress as ExportProgress,
)
from .windows import (
    OnProgress as OnProgress,
)
