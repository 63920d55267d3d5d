from .edit import (
    check_profile as check_profile,
)
from .edit import (
    remove_profile as remove_profile,
)
from .edit import (
    save_profile as save_profile,
)
from .edit import (
    set_default as set_default,
)
from .passwords import (
    PasswordSource as PasswordSource,
)
from .passwords import (
    delete_password as delete_password,
)
from .passwords import (
    find_password as find_password,
)
from .passwords import (
    store_password as store_password,
)
from .profile import (
    EMBEDDED_NAME as EMBEDDED_NAME,
)
from .profile import (
    Profile as Profile,
)
from .profile import (
    ProfileSource as ProfileSource,
)
from .profile import (
    choose_profile as choose_profile,
)
from .profile import (
    origin_of as origin_of,
)
from .profile import (
    read_profile_file as read_profile_file,
)
from .profile import (
    settings_for as settings_for,
)
