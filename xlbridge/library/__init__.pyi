from .connections import (
    BatchResult as BatchResult,
    Connection as Connection,
    ExportedFrames as ExportedFrames,
    Processing as Processing,
    connect as connect,
)
from .reports import (
    Report as Report,
    available_listings as available_listings,
    available_resources as available_resources,
    validate as validate,
)
from .uploads import (
    UploadOutcome as UploadOutcome,
    UploadPlan as UploadPlan,
)
from .workbooks import (
    MappingDraft as MappingDraft,
    fix as fix,
    map as map,  # noqa: A004 - the name of the command
    template as template,
)
