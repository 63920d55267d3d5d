"""Importable resources: schema files, rules, findings and the catalogue.

The schema files are in ``schemas/``, next to the package.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
