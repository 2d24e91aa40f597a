"""The kinds of models that can be exported: what each needs of TensorFlow, which `serving.kinds` leaves out.

Every class of a module of this folder that has `names` is one; it may be of several kinds.
"""

import importlib
import pkgutil

from serving.export.kinds.base import Kind

MODULES = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
CLASSES = [each for module in MODULES for each in vars(module).values() if isinstance(each, type)]
KINDS = {name: kind for kind in CLASSES if issubclass(kind, Kind) for name in kind.names}


def kind_of(model, settings):
    """The `Kind` of a model, determined from its signatures.

    Raises:
        ValueError: the signatures belong to no known kind.
    """
    for kind in dict.fromkeys(KINDS.values()):
        if kind.name_of(model.signatures()):
            return kind(model, settings)
    raise ValueError(
        f"{type(model).__name__} cannot be exported: expected the signatures of one of the kinds "
        f"{', '.join(map(repr, KINDS))}, received {sorted(table.name for table in model.signatures())}."
    )
