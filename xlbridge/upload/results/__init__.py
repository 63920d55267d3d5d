"""Results of uploads: verdicts on rows, reports of jobs, rejects workbooks, status copies."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
