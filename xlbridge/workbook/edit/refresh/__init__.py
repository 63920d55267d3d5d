"""New rows for a table in a workbook of the analyst's, and what refers to them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
