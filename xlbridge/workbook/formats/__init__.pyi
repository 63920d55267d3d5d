from .number_formats import (
    DATE_PARTS as DATE_PARTS,
    Display as Display,
    alters_texts as alters_texts,
    can_display_differently as can_display_differently,
    compare_display as compare_display,
    displayed_date_parts as displayed_date_parts,
    displayed_number as displayed_number,
    displayed_text as displayed_text,
    foreign_currency as foreign_currency,
    scale_factor as scale_factor,
)
