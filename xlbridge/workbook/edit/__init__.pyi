from .analyst_tables import FoundTable as FoundTable
from .csv_and_ods import OdsWorkbook as OdsWorkbook, edit_csv as edit_csv
from .editable_cells import EditableCells as EditableCells, place_rows as place_rows
from .editable_package import (
    EditablePackage as EditablePackage,
    edit_package as edit_package,
    with_headers as with_headers,
)
from .marked_copies import (
    AnnotatedSheet as AnnotatedSheet,
    AnnotationSummary as AnnotationSummary,
    OpenRow as OpenRow,
    RemarkColumns as RemarkColumns,
    annotate as annotate,
    write_remark_columns as write_remark_columns,
)
from .refreshed_rows import RefreshedTable as RefreshedTable
