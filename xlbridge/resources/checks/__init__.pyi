from .pandas_checks import (
    has_decimal_places as has_decimal_places,
)
from .pandas_checks import (
    is_one_of as is_one_of,
)
from .rules import (
    ROW_RULES as ROW_RULES,
)
from .rules import (
    RULES as RULES,
)
from .text_formats import (
    access_key_digit as access_key_digit,
)
from .text_formats import (
    bare_document as bare_document,
)
from .text_formats import (
    is_boleto as is_boleto,
)
from .text_formats import (
    is_cnpj as is_cnpj,
)
from .text_formats import (
    is_cpf as is_cpf,
)
from .text_formats import (
    masked_cnpj as masked_cnpj,
)
from .text_formats import (
    masked_cpf as masked_cpf,
)
