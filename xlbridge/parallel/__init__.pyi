from .executors import Executor as Executor
from .validation import (
    ValidationProgress as ValidationProgress,
    executor_for as executor_for,
    validate_files as validate_files,
    validate_single_sheet as validate_single_sheet,
)
