"""Findings about data: their kinds, messages in both languages, and severities."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
