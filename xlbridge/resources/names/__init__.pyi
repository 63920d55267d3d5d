from .column_names import (
    coded_title as coded_title,
    field_title as field_title,
    fields_called as fields_called,
    is_column_name as is_column_name,
    number_headers as number_headers,
    number_title as number_title,
    registry_of as registry_of,
)
