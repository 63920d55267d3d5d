from .cluster import connect_cluster as connect_cluster
from .executor import (
    Executor as Executor,
    LostItem as LostItem,
    SerialExecutor as SerialExecutor,
)
from .executors import (
    cluster_executor as cluster_executor,
    executor_for as executor_for,
)
from .exports import (
    ExportTask as ExportTask,
    export_all as export_all,
)
from .local import (
    LocalExecutor as LocalExecutor,
    default_worker_count as default_worker_count,
)
from .messages import WorkerDefect as WorkerDefect
from .validation import (
    validate_files as validate_files,
    validate_single_sheet as validate_single_sheet,
)
