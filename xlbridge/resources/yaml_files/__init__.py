"""YAML files that people write: documents with lines, mistakes in plain words."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
