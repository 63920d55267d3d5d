from .column_inputs import (
    ListedRecord as ListedRecord,
    RegistryList as RegistryList,
    RegistryLists as RegistryLists,
)
from .conversion import as_xlsx as as_xlsx
from .new_workbook import (
    FilledRows as FilledRows,
    new_workbook as new_workbook,
    print_across_pages as print_across_pages,
)
from .report_workbook import (
    write_cover as write_cover,
    write_report as write_report,
)
from .row_copies import (
    RejectedRows as RejectedRows,
    records_workbook as records_workbook,
)
from .template import (
    cell_format as cell_format,
    header_text as header_text,
    template_sheets as template_sheets,
    write_template as write_template,
)
