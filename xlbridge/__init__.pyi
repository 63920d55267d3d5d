from . import errors as errors
from .i18n import (
    set_language as set_language,
)
from .library import (
    Connection as Connection,
    ExportedFrames as ExportedFrames,
    Report as Report,
    UploadOutcome as UploadOutcome,
    available_listings as available_listings,
    available_resources as available_resources,
    connect as connect,
    schema as schema,
    validate as validate,
)

__version__: str
