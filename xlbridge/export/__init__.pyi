from .attachments import AttachmentDownloads as AttachmentDownloads
from .export import (
    export_listing as export_listing,
    leftover_sheet_files as leftover_sheet_files,
    require_replaceable as require_replaceable,
    require_writable as require_writable,
)
from .filters import (
    FILTERS as FILTERS,
    Filter as Filter,
    Filters as Filters,
    InvalidFilter as InvalidFilter,
    ValueKind as ValueKind,
    parse_filters as parse_filters,
)
from .formats.base import OpenOutput as OpenOutput
from .formats.frames import (
    FrameOutput as FrameOutput,
)
from .formats.selection import (
    FORMATS as FORMATS,
    output_format as output_format,
    output_opener as output_opener,
    output_paths as output_paths,
)
from .formats.text import CSV_DIALECTS as CSV_DIALECTS
from .layout import Layout as Layout
from .listing import (
    Listing as Listing,
    check_filters as check_filters,
    is_repeatable as is_repeatable,
)
from .listings import (
    LISTINGS as LISTINGS,
    find_listing as find_listing,
)
from .result import (
    ExportResult as ExportResult,
    LastRuns as LastRuns,
    describe_hole as describe_hole,
    describe_missing as describe_missing,
    manifest_of as manifest_of,
    write_manifest as write_manifest,
)
from .sheets import Sheet as Sheet
from .spool import (
    MAX_RESUME_AGE as MAX_RESUME_AGE,
    ResumeStore as ResumeStore,
)
from .windows import (
    ExportProgress as ExportProgress,
    OnProgress as OnProgress,
)
