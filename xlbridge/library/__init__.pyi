from .connections import (
    BatchResult as BatchResult,
    Connection as Connection,
    ExportedFrames as ExportedFrames,
    Processing as Processing,
    connect as connect,
)
from .reports import (
    MappingDraft as MappingDraft,
    Report as Report,
    available_listings as available_listings,
    available_resources as available_resources,
    fix as fix,
    map as map,  # noqa: A004 - the name of the command
    template as template,
    validate as validate,
)
from .uploads import (
    UploadOutcome as UploadOutcome,
    UploadPlan as UploadPlan,
)
