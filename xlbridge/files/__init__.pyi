from .atomic import (
    as_arguments as as_arguments,
    file_lock as file_lock,
    folded_name as folded_name,
    make_private_folder as make_private_folder,
    matching_files as matching_files,
    path_beside as path_beside,
    replace_atomically as replace_atomically,
    report_local_failures as report_local_failures,
    report_write_errors as report_write_errors,
    require_distinct as require_distinct,
    require_new as require_new,
    short_path as short_path,
    write_private as write_private,
)
from .sqlite import (
    LocalDatabase as LocalDatabase,
    open_local_database as open_local_database,
)
