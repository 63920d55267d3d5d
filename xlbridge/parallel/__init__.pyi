from .executors import (
    Executor as Executor,
    executor_for as executor_for,
)
from .validation import (
    ValidationProgress as ValidationProgress,
    validate_files as validate_files,
    validate_single_sheet as validate_single_sheet,
)
