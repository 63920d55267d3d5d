from .batch import (
    Batch as Batch,
    UnitStatus as UnitStatus,
)
from .ledger import open_ledger as open_ledger
from .report import (
    batch_report as batch_report,
    consent_report as consent_report,
    month_tables as month_tables,
)
from .run import (
    plan_batch as plan_batch,
    prove_batch as prove_batch,
    run_batch as run_batch,
)
from .run_options import (
    BatchConsentRequest as BatchConsentRequest,
    BatchOutcome as BatchOutcome,
    BatchRunOptions as BatchRunOptions,
    open_batch as open_batch,
    open_known_batch as open_known_batch,
)
from .status import is_settled as is_settled
