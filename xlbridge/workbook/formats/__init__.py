"""Number formats: what they tell of a number, and what a cell shows by them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
