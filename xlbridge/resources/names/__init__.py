"""Names and titles of the columns of all shipped resources and of the fields of records."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
