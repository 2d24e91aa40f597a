"""Methods replaced while a graph is traced for ONNX, and only then."""

import contextlib


@contextlib.contextmanager
def replaced(owner, **members):
    """While open, `owner.name` is `members[name]`; afterwards it is what it was, inherited or its own."""
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
