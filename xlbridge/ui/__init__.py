"""Local web page: correct a sheet in a grid, upload it, follow jobs, export, run batches."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
