from .catalogue import (
    Catalogue as Catalogue,
)
from .catalogue import (
    load_catalogue as load_catalogue,
)
from .catalogue import (
    row_model as row_model,
)
from .column import (
    Column as Column,
)
from .column import (
    Kind as Kind,
)
from .column import (
    Link as Link,
)
from .column import (
    columns_by_header as columns_by_header,
)
from .column import (
    normalize_header as normalize_header,
)
from .pandera_checks import (
    column_checks as column_checks,
)
from .pandera_checks import (
    register_checks as register_checks,
)
from .pandera_checks import (
    row_check as row_check,
)
from .references import (
    REFERENCES as REFERENCES,
)
from .references import (
    Reference as Reference,
)
from .resource import (
    ExistingPolicy as ExistingPolicy,
)
from .resource import (
    Fingerprint as Fingerprint,
)
from .resource import (
    Lookup as Lookup,
)
from .resource import (
    Mode as Mode,
)
from .resource import (
    ReadBack as ReadBack,
)
from .resource import (
    Resource as Resource,
)
from .resource import (
    column_changes_since as column_changes_since,
)
from .schema_format import (
    schema_file_format as schema_file_format,
)
