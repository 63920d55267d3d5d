"""References of columns: registries of the remote system, and links by other names than codes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
