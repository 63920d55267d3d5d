from .context import (
    UploadContext as UploadContext,
    known_numbers as known_numbers,
    open_context as open_context,
)
from .job import (
    Job as Job,
    Resolution as Resolution,
)
from .journal import Journal as Journal
from .journal_database import JournalMarker as JournalMarker
from .manual_resolution import resolve_job as resolve_job
from .options import RequestedMode as RequestedMode, UploadOptions as UploadOptions
from .payload import sent_rows as sent_rows
from .requests import ItemAddresses as ItemAddresses, State as State
from .uploads import InvalidSheet as InvalidSheet, Uploads as Uploads
