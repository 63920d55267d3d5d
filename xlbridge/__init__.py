"""Spreadsheet-centric bulk import and export for the Business Management Integration API v2.

Its public names are the Python API, shown in ``docs/how-to/library.md``. They are imported on first
use, so that a bare ``import xlbridge`` costs nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
