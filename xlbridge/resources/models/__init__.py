"""Declarations of the formats of YAML files: types of values, blocks, JSON Schema, reading."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
