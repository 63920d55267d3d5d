from .model import (
    DAY_FORMAT as DAY_FORMAT,
)
from .model import (
    MAX_LENGTHS as MAX_LENGTHS,
)
from .model import (
    Attachment as Attachment,
)
from .model import (
    WireModel as WireModel,
)
from .model import (
    fields_in_order as fields_in_order,
)
from .model import (
    format_moment as format_moment,
)
from .model import (
    parse_moment as parse_moment,
)
from .model import (
    record_model as record_model,
)
from .model import (
    spellings as spellings,
)
from .operations import (
    OPERATIONS as OPERATIONS,
)
from .protocol import (
    Envelope as Envelope,
)
from .protocol import (
    ErrorItem as ErrorItem,
)
from .protocol import (
    Operation as Operation,
)
