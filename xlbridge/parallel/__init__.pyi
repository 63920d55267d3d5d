from .executors import (
    Executor as Executor,
    cluster_executor as cluster_executor,
    executor_for as executor_for,
)
from .exports import (
    ExportTask as ExportTask,
    export_all as export_all,
)
from .validation import (
    ValidationProgress as ValidationProgress,
    validate_files as validate_files,
    validate_single_sheet as validate_single_sheet,
)
