"""Rehearsal of a batch: its own workbooks in a private workspace, under faults."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
