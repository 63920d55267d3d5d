from .plan import (
    InvalidNumbers as InvalidNumbers,
    ProcessPlan as ProcessPlan,
    create_processing as create_processing,
    numbers_in_sheet as numbers_in_sheet,
    plan_processing as plan_processing,
    process_plan_report as process_plan_report,
)
from .process_kinds import (
    KINDS as KINDS,
    ProcessKind as ProcessKind,
    RecordNumbers as RecordNumbers,
    explicit_numbers as explicit_numbers,
    find_kind as find_kind,
)
from .report import (
    process_counts as process_counts,
    process_plan_json as process_plan_json,
    processed_records as processed_records,
)
