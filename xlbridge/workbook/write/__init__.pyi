from .data_sheet import (
    cell_format as cell_format,
)
from .migrated_workbook import (
    MigratedColumn as MigratedColumn,
)
from .migrated_workbook import (
    SourceFormatting as SourceFormatting,
)
from .migrated_workbook import (
    write_migrated as write_migrated,
)
from .new_workbook import (
    PAGE_WIDTH as PAGE_WIDTH,
)
from .new_workbook import (
    new_workbook as new_workbook,
)
from .new_workbook import (
    print_across_pages as print_across_pages,
)
from .new_workbook import (
    write_plain_text as write_plain_text,
)
from .records import (
    write_records as write_records,
)
from .records import (
    write_rejects as write_rejects,
)
from .template import (
    template_workbook as template_workbook,
)
from .template import (
    write_template as write_template,
)
from .template import (
    write_templates as write_templates,
)
