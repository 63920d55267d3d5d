from .number_formats import (
    DATE_PARTS as DATE_PARTS,
    foreign_currency as foreign_currency,
    scale_factor as scale_factor,
    shown_date_parts as shown_date_parts,
)
from .shown_values import (
    Shown as Shown,
    changes_texts as changes_texts,
    may_show_otherwise as may_show_otherwise,
    number_shown_as as number_shown_as,
    shown_number as shown_number,
    shown_text as shown_text,
)
