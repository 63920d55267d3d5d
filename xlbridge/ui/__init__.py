"""Page in a browser of this computer: mend a sheet where its cells stand, send it, see the jobs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
