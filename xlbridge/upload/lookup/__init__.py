"""Lookup in the remote system: records of rows, codes of registries, and the online check."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
