from .cluster import connect_cluster as connect_cluster
from .executor import (
    Executor as Executor,
    LostItem as LostItem,
    SerialExecutor as SerialExecutor,
)
from .exports import (
    ExportTask as ExportTask,
    export_all as export_all,
)
from .local import (
    LocalExecutor as LocalExecutor,
    cluster_executor as cluster_executor,
    default_worker_count as default_worker_count,
    executor_for as executor_for,
)
from .messages import WorkerDefect as WorkerDefect
from .validation import (
    validate_files as validate_files,
    validate_single_sheet as validate_single_sheet,
)
