"""The kinds of models that can be exported: what each needs of TensorFlow, which `serving.kinds` leaves out.

Every module of this folder that has a `KIND` is one; a class may be of several kinds.
"""

import importlib
import pkgutil

MODULES = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
KINDS = {name: module.KIND for module in MODULES if "KIND" in vars(module) for name in module.KIND.names}


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
