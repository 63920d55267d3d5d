from .format import (
    plan_format as plan_format,
    with_month as with_month,
)
from .reader import local_date as local_date, read_plan as read_plan
