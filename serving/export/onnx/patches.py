"""Temporary replacement of methods while a graph is traced for ONNX."""

import contextlib


@contextlib.contextmanager
def replace(owner, **members):
    """A context in which `owner.name` is `members[name]`. Afterwards the former attribute is back."""
    own = {name: vars(owner).get(name) for name in members}
    for name, member in members.items():
        setattr(owner, name, member)
    try:
        yield
    finally:
        for name, member in own.items():
            if member is None:
                delattr(owner, name)
            else:
                setattr(owner, name, member)
