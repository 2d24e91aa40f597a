"""Plain: what models are trained for: one file a task, and nothing else to change for a new one.

Every module of this folder that has a `TASK` is a task (`zoo.tasks.parts.task.Task`). None of them imports a framework
before it builds something.
"""

import importlib
import pkgutil


def find_tasks():
    """`{name: task}` of the modules of this folder."""
    modules = [importlib.import_module(f"zoo.tasks.{each.name}") for each in pkgutil.iter_modules(__path__)]
    return {module.TASK.name: module.TASK for module in modules if "TASK" in vars(module)}


TASKS = find_tasks()
