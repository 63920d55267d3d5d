"""Optional extras: how to add one to the running installation, from where that came from.

Nobody may own the name ``xlbridge`` in a public index: a hint names the clone, file or repository
of its installation (PEP 610), and the index or folder of before only where none is recorded.
"""

import importlib.util
import os
import sys

from xlbridge.errors import ConfigError
from xlbridge.files import as_arguments
from xlbridge.i18n import Text, joined

_REQUIRED = {
    "dask": (
        Text(pt="O Dask não está instalado.", en="Dask is not installed."),
        ("distributed",),
    ),
    "sandbox": (
        Text(pt="O ambiente de testes não está instalado.", en="The sandbox is not installed."),
        ("multipart", "sqlalchemy", "starlette", "uvicorn"),
    ),
    "ui": (
        Text(pt="A página não está instalada.", en="The page is not installed."),
        ("starlette", "uvicorn"),
    ),
}


def require_extra(extra: str, *otherwise: Text) -> None:
    """Raise ``ConfigError`` if an extra is missing, with how to add it and what else helps."""
    missing, packages = _REQUIRED[extra]
    if not all(map(importlib.util.find_spec, packages)):
        raise ConfigError(missing, joined((install_hint(extra), *otherwise), "\n"))


def install_hint(extra: str) -> Text:
    """Return how to install an extra, such as ``"ui"``, beside the running xlbridge."""
    if getattr(sys, "frozen", False):
        return _IN_APPLICATION.format(extra=extra)
    # Imported late: only hints need them.
    import json
    from importlib.metadata import distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    installed = distribution("xlbridge")
    source = json.loads(installed.read_text("direct_url.json") or "{}")
    address = source.get("url", "")
    if "vcs_info" in source:
        revision = source["vcs_info"]["commit_id"]
        wanted = f"xlbridge[{extra}] @ {source['vcs_info']['vcs']}+{address}@{revision}"
    elif "dir_info" in source:
        wanted = f"{url2pathname(urlsplit(address).path)}[{extra}]"
    elif address:
        wanted = f"xlbridge[{extra}] @ {address}"
    else:
        wanted = f"xlbridge[{extra}]=={installed.version}"
    is_editable = source.get("dir_info", {}).get("editable", False)
    wanted = ("-e " if is_editable else "") + as_arguments(wanted)
    python = as_arguments(sys.executable)
    if importlib.util.find_spec("pip") is None:  # as in the environments of uv
        command = f"uv pip install --python {python} {wanted}"
    else:
        # PowerShell only runs a quoted program after "&".
        call = "& " if os.name == "nt" and python.startswith("'") else ""
        command = f"{call}{python} -m pip install {wanted}"
    return (_FROM_SOURCE if address else _FROM_INDEX).format(command=command)


_ASK = Text(
    pt="Peça à TI, ou a quem instalou o xlbridge, que instale a parte que falta.",
    en="Ask IT, or the person who installed xlbridge, to install the missing part.",
)
_FROM_SOURCE = Text(
    pt="Instale: {command}",
    en="Install: {command}",
    page=_ASK,
)
_FROM_INDEX = Text(
    pt="Instale da mesma pasta ou do mesmo índice de que veio o xlbridge (--find-links ou "
    "--index-url): {command}",
    en="Install it from the same folder or index that xlbridge came from (--find-links or "
    "--index-url): {command}",
    page=_ASK,
)
_IN_APPLICATION = Text(
    pt='Este aplicativo não contém a parte "{extra}": use um construído com ela, ou o xlbridge '
    "instalado com Python.",
    en='This application does not contain the part "{extra}": use one built with it, or xlbridge '
    "installed with Python.",
)
