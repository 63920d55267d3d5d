"""Plan of a batch: its steps, the format of its file, and the reader of one."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
