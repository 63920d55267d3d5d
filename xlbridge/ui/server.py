"""Server of the page: on loopback only, until its terminal or its button ends it."""

import json
import os
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from xlbridge.errors import ConfigError
from xlbridge.files import write_private
from xlbridge.i18n import Text
from xlbridge.serving import LOOPBACK, Server, listen
from xlbridge.settings import Settings
from xlbridge.ui.app import PageApplication
from xlbridge.ui.guard import Guard
from xlbridge.ui.sending import Remote

_STOP_SECONDS = 1


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Options of the page: its port (0 is any free one), the browser, the ready file."""

    port: int = 0
    browser: bool = True
    ready_file: Path | None = None


def serve_page(options: PageOptions, settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve the page until SIGINT, SIGTERM or its button; ``announce`` is told the launch link.

    The link works once. Raises ``UsageError`` when the port is taken, ``ConfigError`` when the
    server does not start.
    """
    with ExitStack() as stack:
        listener = stack.enter_context(listen(LOOPBACK, options.port))
        remote = Remote(settings)
        stack.callback(remote.close)
        application = PageApplication(remote, lambda: server.stop())
        stack.callback(application.close)
        guard = Guard(application.build(), listener.getsockname()[1])

        def ready() -> None:
            if options.ready_file is not None:
                known = {"url": guard.launch_link, "pid": os.getpid()}
                write_private(options.ready_file, json.dumps(known))
                stack.callback(options.ready_file.unlink, missing_ok=True)
            announce(guard.launch_link)
            if options.browser:
                webbrowser.open(guard.launch_link)

        server = Server(guard, ready, timeout_graceful_shutdown=_STOP_SECONDS)
        server.run(sockets=[listener])
        if not server.started:
            raise ConfigError(Text(pt="A página não iniciou.", en="The page did not start."))
