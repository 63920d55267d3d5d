from .login import (
    PasswordSource as PasswordSource,
    check_profile as check_profile,
    delete_password as delete_password,
    find_password as find_password,
    remove_profile as remove_profile,
    save_profile as save_profile,
    set_default as set_default,
    store_password as store_password,
)
from .profile import (
    EMBEDDED_NAME as EMBEDDED_NAME,
    Profile as Profile,
    ProfileSource as ProfileSource,
    choose_profile as choose_profile,
    origin_of as origin_of,
    read_profile_file as read_profile_file,
    settings_for as settings_for,
)
