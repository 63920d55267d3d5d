"""Workbooks: constants and addresses that reading, writing and editing share."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
