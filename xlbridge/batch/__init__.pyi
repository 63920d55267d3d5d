from .batch import (
    Batch as Batch,
)
from .batch import (
    open_environments as open_environments,
)
from .batch import (
    open_ledger as open_ledger,
)
from .checks import (
    CheckResult as CheckResult,
)
from .parameters import (
    MONTH_PARAMETER as MONTH_PARAMETER,
)
from .parameters import (
    RELATIVE_MONTHS as RELATIVE_MONTHS,
)
from .parameters import (
    is_month as is_month,
)
from .plan import (
    BatchPlan as BatchPlan,
)
from .plan_file import (
    read_plan as read_plan,
)
from .plan_format import (
    plan_format as plan_format,
)
from .run import (
    BatchRun as BatchRun,
)
from .run import (
    BatchRunOptions as BatchRunOptions,
)
from .run import (
    ConsentRequest as ConsentRequest,
)
from .status import (
    StepOverview as StepOverview,
)
from .status import (
    batch_json as batch_json,
)
from .status import (
    batch_text as batch_text,
)
from .status import (
    overview as overview,
)
from .unit_status import (
    UnitStatus as UnitStatus,
)
