"""Resources that can be imported: what reads their schema files, rules, findings, the catalogue.

The schema files themselves, one for each resource, lie beside the package in ``schemas/``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
