"""Processing of records in bulk: orders, invoices, inventories, files, each to its next state."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
