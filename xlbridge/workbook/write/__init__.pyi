from .clean_workbook import write_records as write_records
from .data_sheet import cell_format as cell_format
from .migrated_workbook import MigratedColumn as MigratedColumn, OlderWorkbook as OlderWorkbook
from .new_workbook import new_workbook as new_workbook, print_across_pages as print_across_pages
from .plain_workbook import as_xlsx as as_xlsx
from .rejects_workbook import RejectedRows as RejectedRows, write_rejects as write_rejects
from .report_workbook import write_report as write_report
from .template import (
    ListedRecord as ListedRecord,
    RegistryList as RegistryList,
    RegistryLists as RegistryLists,
    template_sheets as template_sheets,
    write_template as write_template,
)
