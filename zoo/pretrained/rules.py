"""From the tensors of a file to the weights of a model: a table of rules that leaves nothing out on either side.

    Rule("encoder.layers.{n}.fc1.weight", "encoder/blocks/{n}/feedforward/hidden/kernel", transpose)

Words in braces stand for numbers and names, which are the same on both sides. Between them stand steps, each with a
name, and with a reverse unless it loses something: what a rule has read, `Rule.back` writes again. Nothing of them is
left when the model runs.
"""

import dataclasses
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

import numpy as np

from zoo.pretrained.reading import all_told, some

NEVER = -1e4  # the logit of what may not be written: its probability is 0, and float16 has the number


@dataclasses.dataclass(frozen=True)
class Step:
    """From arrays to a tuple of arrays: `forward(*arrays)`; `reverse` is the way back, None where numbers are lost."""

    name: str
    forward: Callable
    reverse: Callable | None = None


def each(name, forward, reverse=None):
    """A step that treats every array by itself."""
    back = reverse and (lambda *arrays: tuple(map(reverse, arrays)))
    return Step(name, lambda *arrays: tuple(map(forward, arrays)), back)


transpose = each("transposed", np.transpose, np.transpose)
flat = each("one row taken as a vector", lambda x: x.reshape(-1), lambda x: x[None])


def squeeze(axis):
    """Leave out an axis of size one."""
    return each("an axis of one left out", lambda x: np.squeeze(x, axis), lambda x: np.expand_dims(x, axis))


def widen(count, axis=-1):
    """An axis with `count` zeros behind it, which change nothing where another layer has none of their units."""
    name = f"an axis made longer by {count}, with zeros"
    return each(
        name, lambda x: np.insert(x, [x.shape[axis]] * count, 0, axis), lambda x: np.delete(x, np.s_[-count:], axis)
    )


def rows(ids, size=None):
    """Rows in the order of our ids; a row that has two of them is copied.

    There are `size` rows; without it every row has an id.
    """
    size = size or ids.max() + 1

    def forward(x):
        if len(x) != size:
            raise ValueError(f"it has {len(x):,} rows for {size:,} ids")
        return x[ids]

    def back(x):
        full = np.zeros((size, *x.shape[1:]), x.dtype)
        full[ids[::-1]] = x[::-1]
        return full

    name = "rows put into the order of our ids"
    return each(name, forward, back) if len({*ids}) == size else each(f"{name}, rows left out that have none", forward)


def channels(order, axis=-1):
    """Put the places of an axis into another order."""
    name = "channels put into the order of our positions"
    return each(name, lambda x: x.take(order, axis), lambda x: x.take(np.argsort(order), axis))


def scale(factor):
    """Multiply every number by a factor."""
    return each(f"scaled by {factor:.6g}", lambda x: x * np.float32(factor), lambda x: x / np.float32(factor))


def drop(count):
    """Leave out the first rows."""
    return each(f"the first {count} rows left out", lambda x: x[count:])


def put(ids, value=NEVER):
    """Set the numbers at some ids to one value."""

    def forward(x):
        x = x.copy()
        x[list(ids)] = value
        return x

    return each("what is never written barred", forward)


def barring_bias(size, ids):
    """A bias of the output that bars some ids and changes nothing else."""
    return put(ids).forward(np.zeros(size, "float32"))[0]


def split(count, axis=-1):
    """Split one array into several of the same size."""
    return Step(
        f"split into {count}",
        lambda x: tuple(np.split(x, count, axis)),
        lambda *arrays: (np.concatenate(arrays, axis),),
    )


def first(step):
    """A step for the first of several arrays alone."""

    def alone(forward):
        return forward and (lambda x, *others: (*forward(x), *others))

    return Step(f"the first {step.name}", alone(step.forward), alone(step.reverse))


def copies(count):
    """Copy one array, so that there are several that are equal."""
    return Step(f"copied to {count} layers", lambda x: (x,) * count, lambda *arrays: arrays[:1])


def join(*sizes, axis=-1):
    """Join several arrays, of these sizes along an axis."""
    return Step(
        "joined",
        lambda *arrays: (np.concatenate(arrays, axis),),
        lambda x: tuple(np.split(x, np.cumsum(sizes)[:-1], axis)),
    )


def add_row(number=0):
    """Add one row of the second array, by its number, to every row of the first."""
    return Step("a row of another matrix added", lambda x, other: (x + other[number],))


@dataclasses.dataclass(frozen=True, init=False)
class Rule:
    """One kind of tensor, the weight that it becomes, and the steps in between.

    Attributes:
        theirs: the pattern of its name, or several of them where a weight is made of more than one tensor: the first
            one tells what the words in braces are.
        ours: the path of the weight (`zoo.training.named_weights`); several where a tensor becomes several weights.
        steps: from one to the other.
        also: other names under which a file may hold the same tensor, in its place or beside it.
    """

    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    steps: tuple[Step, ...]
    also: tuple[str, ...]

    def __init__(self, theirs, ours, *steps, also=()):
        for name, value in (("theirs", theirs), ("ours", ours), ("steps", steps), ("also", also)):
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))

    def matches(self, names):
        """`{words: the names that fit}`: of the pattern itself and of `also`, in this order.

        Words that `also` alone has, such as the side of an embedding that both sides share, tell no weights apart.
        """
        matches, own = {}, _compile(self.theirs[0])
        for expression in (own, *map(_compile, self.also)):
            for match in filter(None, map(expression.fullmatch, names)):
                words = tuple((word, value) for word, value in match.groupdict().items() if word in own.groupindex)
                matches.setdefault(words, []).append(match[0])
        return matches

    def forth(self, *arrays):
        """Turn tensors into weights."""
        for step in self.steps:
            arrays = step.forward(*arrays)
        return arrays

    def back(self, *arrays):
        """Turn weights into tensors again.

        Raises:
            ValueError: a step has lost some of the tensors' numbers.
        """
        lost = [step.name for step in self.steps if step.reverse is None]
        if lost:
            raise ValueError(
                f"{', '.join(self.ours)} cannot become {', '.join(self.theirs)} again, for numbers were lost when it "
                f"was read: {', '.join(lost)}. Take them from the file that was imported."
            )
        for step in reversed(self.steps):
            arrays = step.reverse(*arrays)
        return arrays


def _compile(pattern):
    """The regular expression of a pattern: {n} is a number, and any other word in braces a name."""
    group = lambda match: f"(?P<{match[1]}>{'[0-9]+' if match[1] == 'n' else '[A-Za-z_]+'})"  # noqa: E731
    return re.compile(re.sub(r"\\{(\w+)\\}", group, re.escape(pattern)))


def fill(weights, tensors, rules, unneeded, constants=()):
    """Give every weight its numbers.

    Args:
        weights: `{path: weight}` of a built model.
        tensors: `{name: Tensor}`.
        rules: of the family, the more particular ones first.
        unneeded: `{pattern: why}` of tensors that no weight needs; `*` stands for anything.
        constants: `{path: numbers}` of weights that no tensor gives.

    Returns:
        (names of what was folded, `{name: why}` of the tensors that were not needed).

    Raises:
        ValueError: all that does not fit, in one message.
    """
    unread, unset, problems, folds = dict.fromkeys(tensors), dict.fromkeys(weights), [], {}
    for rule in rules:
        for words, names in rule.matches(list(unread)).items():
            words = dict(words)
            others = [pattern.format(**words) for pattern in rule.theirs[1:]]
            paths = [path.format(**words) for path in rule.ours]
            missing = [name for name in others if name not in tensors]
            if missing:
                problems.append(f"{names[0]} needs {', '.join(missing)} beside it, which is missing")
                continue
            try:
                problems += _assign(rule, names, others, {path: weights.get(path) for path in paths}, tensors, unset)
            except ValueError as error:
                problems.append(str(error))
            for name in (*names, *others):
                unread.pop(name, None)
            for path in paths:
                unset.pop(path, None)
            folds |= {step.name: None for step in rule.steps}
    for path, values in dict(constants).items():
        weights[path].assign(np.asarray(values, "float32"))
        unset.pop(path)
    reasons = {name: [why for pattern, why in unneeded.items() if fnmatchcase(name, pattern)] for name in unread}
    unknown = [name for name, why in reasons.items() if not why]
    if unknown:
        problems.append(f"nothing here takes {some(unknown)}")
    if unset:
        problems.append(f"no tensor gives {some(list(unset))}")
    if problems:
        count = "one thing" if len(problems) == 1 else f"{len(problems)} things"
        raise ValueError(f"{count} of these weights cannot be taken:{all_told(problems)}")
    return [name for name in folds if name != transpose.name], {name: why[0] for name, why in reasons.items()}


def _assign(rule, names, others, weights, tensors, unset):
    """Give weights what a rule makes of tensors, all `names` the same; yields or raises what is wrong."""
    arrays = [tensors[name].read() for name in (names[0], *others)]
    for name, array in zip((names[0], *others), arrays, strict=True):
        if array.dtype.kind != "f":
            raise ValueError(f"{name} holds {array.dtype}; expected floating-point numbers, as before a quantisation")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds NaN or infinity")
    for name in names[1:]:
        if not np.array_equal(arrays[0], tensors[name].read()):
            yield f"{name} differs from {names[0]}, which should be the same tensor"
    unknown = [path for path, weight in weights.items() if weight is None]
    if unknown:
        raise ValueError(f"{names[0]} belongs to {', '.join(unknown)}, which this model does not have")
    shape = arrays[0].shape
    try:
        arrays = rule.forth(*arrays)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{names[0]} has the shape {shape}, which does not fit: {error}") from error
    for (path, weight), values in zip(weights.items(), arrays, strict=True):
        if path not in unset:
            yield f"{names[0]} would become {path}, which has its numbers from another tensor"
        elif tuple(values.shape) != tuple(weight.shape):
            yield f"{names[0]} has the shape {shape}, where {path} would need {tuple(weight.shape)}"
        else:
            weight.assign(np.ascontiguousarray(values, weight.dtype))
