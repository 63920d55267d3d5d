from .proposal import (
    WORKBOOK_ENDINGS as WORKBOOK_ENDINGS,
    FoundWorkbook as FoundWorkbook,
    find_workbooks as find_workbooks,
    plan_name as plan_name,
    write_plan as write_plan,
)
from .reader import (
    local_date as local_date,
    read_plan as read_plan,
    with_month as with_month,
)
from .steps import file_digest as file_digest, plan_format as plan_format
