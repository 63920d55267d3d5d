"""Support for rehearsals: placeholders for missing codes, and comparison of stored rows."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
