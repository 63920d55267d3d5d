"""Python API behind ``import xlbridge``: validate, connect, upload, export, look up."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
