"""Spreadsheet-centric bulk import and export for the Business Management Integration API v2.

The names below are the package's public Python API; ``docs/how-to/library.md`` shows them at work.
They are imported when they are first used, so that a bare ``import xlbridge`` costs nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
