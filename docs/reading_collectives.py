"""What the devices of a training tell each other in a step, read from the compiled program (JAX).

The processor's compiler makes an operation for each array. Compilers of accelerators put those together that do not
wait for each other; so what counts is how many must come one after the other, the `round`s.
"""

import re
from dataclasses import dataclass
from math import prod

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.-]+) \(.*\) -> .* \{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.-]+) = (.*?) ([\w-]+)\((.*)$")
_ARRAY = re.compile(r"\b([a-z]+\d*[a-z\d]*)\[([\d,]*)\]")
_USES = re.compile(r"\b(condition|body|calls|to_apply|branch_computations|true_computation|false_computation)=([^ ]+)")


@dataclass(frozen=True)
class Collective:
    """One operation in which all devices take part.

    Attributes:
        kind: one of `KINDS`.
        arrays: (type, shape) of each array that it makes, such as ("f32", (3, 4)).
        round: how many collectives its inputs need, one after the other, and itself.
        repeated: whether it stands in a loop, and so runs many times.
    """

    kind: str
    arrays: tuple
    round: int
    repeated: bool

    @property
    def bytes(self):
        """Of all its arrays."""
        return sum(prod(shape) * max(1, int(re.sub(r"\D", "", name) or 8) // 8) for name, shape in self.arrays)


def collectives(text):
    """The `Collective`s of a compiled program, in their order.

    Args:
        text: of the program for each device, as of `jax.jit(..).lower(..).compile().as_text()`.
    """
    operations, uses, loops, computation, rounds, longest = [], {}, set(), None, {}, {}
    for line in text.splitlines():
        if head := _COMPUTATION.match(line):
            computation, rounds = head[1], {}
        if not (parts := _INSTRUCTION.match(line)):
            continue
        name, result, kind, rest = parts.groups()
        used = {what: set(re.findall(r"[\w.-]+", names)) for what, names in _USES.findall(line)}
        inside = set().union(*used.values())
        uses.setdefault(computation, set()).update(inside)
        loops |= used.get("condition", set()) | used.get("body", set())
        before = max((rounds.get(each, 0) for each in re.findall(r"%?([\w.-]+)", rest)), default=0)
        rounds[name] = before + (kind in KINDS) + max((longest.get(each, 0) for each in inside), default=0)
        longest[computation] = max(longest.get(computation, 0), rounds[name])
        if kind in KINDS:
            arrays = tuple((number, _shape(sizes)) for number, sizes in _ARRAY.findall(result))
            operations.append((computation, kind, arrays, rounds[name]))
    inside = _reached(loops, uses)
    return [Collective(kind, arrays, number, place in inside) for place, kind, arrays, number in operations]


def _shape(sizes):
    return tuple(int(size) for size in sizes.split(",") if size)


def _reached(names, uses):
    """The computations that those of these names use, and themselves."""
    reached, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo.extend(uses.get(name, ()))
    return reached
