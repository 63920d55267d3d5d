"""Ways in which records of a resource are found, created and changed in the remote system."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
