"""Mappings: sheets with headers of their own, read as the sheets of a resource."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
