"""Render a page that stands alone.

Style, script and data are in the page, and its content security policy lets it load nothing. A
value from a workbook or from the remote system is always escaped.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from xlbridge.i18n import active_language

if TYPE_CHECKING:
    from jinja2 import Environment

_BASE = "xlbridge.pages"


def render_page(
    package: str, *, scripted: bool = False, served: bool = False, **values: object
) -> str:
    """Return a page as HTML, in the active language.

    The folder ``page`` of ``package`` holds its ``page.html``, which extends
    ``xlbridge.pages/base.html``, its ``page.css``, and ``page.js`` where the page is ``scripted``.
    The template gets ``values``; its filter ``tojson`` passes data to the script. Lone surrogates,
    which no file can hold, become question marks. A page that is ``served`` does not stand alone:
    it loads its style and scripts from ``/files/`` of its server, whose headers hold its policy.
    """
    style, script = "", None
    if not served:
        style = _source(f"{_BASE}/base.css") + _source(f"{package}/page/page.css")
        script = _source(f"{package}/page/page.js") if scripted else None
    template = _environment().get_template(f"{package}/page/page.html")
    page = template.render(
        values, language=active_language(), served=served, style=style, script=script
    )
    return page.encode("utf-8", "replace").decode()


@cache
def _environment() -> "Environment":
    # Imported late: commands that write no page start without it.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["csp_hash"] = _csp_hash
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


@cache
def _source(name: str) -> str:
    """Return a file that is shipped in a package, named ``package/path``."""
    package, _, path = name.partition("/")
    return files(package).joinpath(path).read_text("utf-8")


def _csp_hash(content: str) -> str:
    """Return how a content security policy names the one content that it lets through."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
