from .annotated_copy import (
    MAX_SHOWN as MAX_SHOWN,
    AnnotatedSheet as AnnotatedSheet,
    annotate as annotate,
)
from .editable_cells import EditableCells as EditableCells
from .editable_package import EditablePackage as EditablePackage, edit_package as edit_package
from .remark_columns import (
    RemarkColumns as RemarkColumns,
    write_remark_columns as write_remark_columns,
)
from .summary_sheet import AnnotationSummary as AnnotationSummary
