from .annotated_copy import (
    AnnotatedSheet as AnnotatedSheet,
)
from .annotated_copy import (
    annotate as annotate,
)
from .editable_cells import (
    EditableCells as EditableCells,
)
from .editable_package import (
    EditablePackage as EditablePackage,
)
from .editable_package import (
    edit_package as edit_package,
)
from .remark_columns import (
    write_remark_columns as write_remark_columns,
)
from .summary_sheet import (
    AnnotationSummary as AnnotationSummary,
)
