"""When the classes of the zoo arrive in Keras' registry: with Keras itself, and not before.

To import Keras takes seconds, and a command that is used wrongly should say so at once. So `import zoo` imports no
framework. It leaves a finder on `sys.meta_path` instead, which finds nothing of its own: the first import of Keras, or
of a part of `zoo` that uses it, is followed by the import of all rooms that have registered classes, and of the layers
that installed packages bring. From then on, and whatever came first, `keras.models.load_model` knows them all.
"""

import importlib
import importlib.abc
import importlib.util
import sys
import warnings

# The rooms with registered classes.
ROOMS = ("attention", "blocks", "depth", "embeddings", "feedforward", "models", "recurrent", "training")
# Parts of zoo that do without it, or import it when they must.
WITHOUT_KERAS = (
    "core.array_files",
    "core.devices",
    "core.documents",
    "core.escaping",
    "core.later",
    "core.layouts",
    "core.processor",
    "core.protocols",
    "core.searching",
    "core.storage",
    "core.wording",
    "data",
    "hub",
    "pretrained",
    "recipes",
    "reproduce",
    "runs",
    "scores",
    "settings",
    "tasks",
    "text",
)


def expect_keras():
    """Import the rooms after the next import of Keras; at once if it is there already."""
    if sys.modules.get("keras"):  # None keeps it from being imported
        _import_rooms()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _import_rooms():
    for room in ROOMS:
        importlib.import_module(f"zoo.{room}")
    occupants = importlib.import_module("zoo.settings.occupants")
    for slot in occupants.SLOTS:
        for table in filter(lambda each: each.source, occupants.own_tables(slot)):
            table.maker()
    try:
        occupants.import_modules()
    except ValueError as error:  # somebody else's package must not keep Keras from being imported
        warnings.warn(str(error), stacklevel=2)


def _needs_keras(name):
    package, _, rest = name.partition(".")
    return name == "keras" or (package == "zoo" and not {rest, rest.split(".")[0]} & set(WITHOUT_KERAS))


class _Finder(importlib.abc.MetaPathFinder):
    """Notices the first import that needs Keras, lets other finders find it, and has the rooms imported after it.

    To be asked where a module is, as `importlib.util.find_spec` does, is not yet its import: the finder stays.
    """

    busy = False  # while such a module is looked for or executed, with all that it imports itself

    def find_spec(self, name, path=None, target=None):
        if self.busy or not _needs_keras(name):
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_import_rooms(module):
            spec.loader.exec_module = execute
            if self.busy or self not in sys.meta_path:
                return execute(module)
            self.busy = True
            try:
                execute(module)  # where this fails, as without a backend, the next attempt begins anew
            finally:
                self.busy = False
            sys.meta_path.remove(self)
            _import_rooms()

        spec.loader.exec_module = execute_and_import_rooms
        return spec
