"""Changed copies of a user's workbook: annotated, corrected, with remark columns."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
