from .address import (
    CellPosition as CellPosition,
)
from .address import (
    CellRange as CellRange,
)
from .address import (
    cell_address as cell_address,
)
from .address import (
    column_index as column_index,
)
from .address import (
    column_letters as column_letters,
)
from .overwriting import (
    ANNOTATED as ANNOTATED,
)
from .overwriting import (
    EXPORTED as EXPORTED,
)
from .overwriting import (
    PROVEN as PROVEN,
)
from .overwriting import (
    require_no_archive as require_no_archive,
)
from .overwriting import (
    require_own as require_own,
)
from .overwriting import (
    require_unedited as require_unedited,
)
from .signature import (
    COVER_MOMENT as COVER_MOMENT,
)
from .signature import (
    COVER_SHEET as COVER_SHEET,
)
from .signature import (
    EXPORT_PROPERTY as EXPORT_PROPERTY,
)
from .signature import (
    PROOF_PROPERTY as PROOF_PROPERTY,
)
from .signature import (
    REJECTS_COLUMNS as REJECTS_COLUMNS,
)
from .signature import (
    STATUS_COLUMNS as STATUS_COLUMNS,
)
from .style import (
    FONT as FONT,
)
from .style import (
    FONT_SIZE as FONT_SIZE,
)
from .style import (
    NUMBER_FORMATS as NUMBER_FORMATS,
)
from .style import (
    QUIET as QUIET,
)
from .style import (
    STRONG as STRONG,
)
