from .column_names import is_column_name as is_column_name
