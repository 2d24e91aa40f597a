"""The settings that every factory of a stack takes beside its sizes: how its blocks are made."""

import difflib
from dataclasses import dataclass, fields

from zoo.attention import MultiHeadAttention
from zoo.core.dropout import shifted
from zoo.core.norms import EPSILON

SEEDS_PER_BLOCK = 10


@dataclass(frozen=True, kw_only=True)
class BlockSettings:
    """Keyword arguments of `make_stack`, `make_reformer_stack`, `make_universal_stack`, `make_depth_adaptive_stack`.

    Args:
        dropout: on each branch.
        cross: whether the blocks attend to a memory, as a decoder's do.
        activation: of the feed-forward layers.
        seed: of the dropouts, and of whatever else the stack draws.
        norm, epsilon: as of `zoo.blocks.PostNorm`.
    """

    dropout: float = 0.1
    cross: bool = False
    activation: str = "relu"
    seed: int | None = None
    norm: str = "layer"
    epsilon: float = EPSILON

    @classmethod
    def read(cls, given):
        """The settings of a factory's keyword arguments.

        Raises:
            TypeError: a setting that does not exist; the message names the nearest one.
        """
        names = [each.name for each in fields(cls)]
        for name in given:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                raise TypeError(
                    f"A stack's blocks have no setting {name!r}."
                    f"{f' Did you mean {near[0]!r}?' if near else ''} Expected one of {', '.join(names)}."
                )
        return cls(**given)

    def block_seed(self, index):
        return shifted(self.seed, SEEDS_PER_BLOCK * index)

    def around(self, index, units, num_heads):
        """What every block is given beside its attention and its feed-forward layers."""
        memory = MultiHeadAttention(units, num_heads) if self.cross else None
        own = {"dropout": self.dropout, "norm": self.norm, "epsilon": self.epsilon}
        return {"cross_attention": memory, "seed": self.block_seed(index), **own}
