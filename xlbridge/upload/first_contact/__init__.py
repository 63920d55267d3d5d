"""First contact with an installation: what harmless probes tell about its quirks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
