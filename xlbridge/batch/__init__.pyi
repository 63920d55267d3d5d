from .batch import (
    Batch as Batch,
    UnitStatus as UnitStatus,
)
from .ledger import open_ledger as open_ledger
from .opening import (
    open_batch as open_batch,
    open_known_batch as open_known_batch,
)
from .plan import workbook_named as workbook_named
from .plan_file import read_plan as read_plan
from .plan_format import plan_format as plan_format, with_month as with_month
from .report import (
    batch_json as batch_json,
    batch_report as batch_report,
)
from .run import prove_batch as prove_batch, run_batch as run_batch
from .run_options import (
    BatchOutcome as BatchOutcome,
    BatchRunOptions as BatchRunOptions,
    ConsentRequest as ConsentRequest,
    RunBatch as RunBatch,
    RunProgress as RunProgress,
)
from .sender import plan_batch as plan_batch
from .status import (
    STATUS_NAMES as STATUS_NAMES,
    StepOverview as StepOverview,
    is_settled as is_settled,
    overview as overview,
)
