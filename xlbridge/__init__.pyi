from . import errors as errors
from .checks import schema as schema
from .i18n import (
    override_language as override_language,
    set_language as set_language,
)
from .library import (
    BatchResult as BatchResult,
    Connection as Connection,
    ExportedFrames as ExportedFrames,
    MappingDraft as MappingDraft,
    Processing as Processing,
    Report as Report,
    UploadOutcome as UploadOutcome,
    UploadPlan as UploadPlan,
    available_listings as available_listings,
    available_resources as available_resources,
    connect as connect,
    fix as fix,
    map as map,  # noqa: A004 - the name of the command
    template as template,
    validate as validate,
)

__version__: str
