from .all_rules import (
    CATALOGUE as CATALOGUE,
    ROW_RULES as ROW_RULES,
    RULES as RULES,
)
from .column_checks import (
    has_decimal_places as has_decimal_places,
)
from .row_checks import (
    is_one_of as is_one_of,
)
from .rule import (
    column_check as column_check,
    row_check as row_check,
    text_check as text_check,
    value_text as value_text,
)
from .text_checks import (
    DOCUMENTS as DOCUMENTS,
    bare_document as bare_document,
    is_boleto as is_boleto,
    is_email as is_email,
    is_masked_document as is_masked_document,
    mod11_digit as mod11_digit,
)
