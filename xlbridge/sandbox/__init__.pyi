from .embedded import (
    RunningSandbox as RunningSandbox,
)
from .embedded import (
    embedded_sandbox as embedded_sandbox,
)
from .embedded import (
    require_extra as require_extra,
)
from .embedded import (
    sandbox_process as sandbox_process,
)
from .imports.queue import (
    has_unfinished_files as has_unfinished_files,
)
from .options import (
    Behaviour as Behaviour,
)
from .options import (
    FaultKind as FaultKind,
)
from .options import (
    FaultPlan as FaultPlan,
)
from .options import (
    SeedKind as SeedKind,
)
from .options import (
    parse_faults as parse_faults,
)
from .seed import (
    seed_database as seed_database,
)
from .server import (
    ServeOptions as ServeOptions,
)
from .server import (
    serve as serve,
)
from .users import (
    prepare_account as prepare_account,
)
