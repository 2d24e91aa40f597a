"""What the slot of the block may hold: how sub-layers are wired around the residual stream."""

from typing import Annotated, Literal

from zoo.settings.kinds import Between, Doc
from zoo.settings.layers import Layer

Norm = Annotated[Literal["layer", "rms"], Doc("kind of the norms, that of the whole stack among them")]
Epsilon = Annotated[Between, Doc("what the norms add to the variance")]


class PreNorm(Layer, tag="pre_norm"):
    """`x + f(norm(x))`, which deep stacks train with."""

    takes = ("dropout", "seed")
    norm: Norm = "layer"
    epsilon: Epsilon = 1e-5


class PostNorm(Layer, tag="post_norm"):
    """`norm(x + f(x))`, Vaswani et al. 2017."""

    takes = ("dropout", "seed")
    norm: Norm = "layer"
    epsilon: Epsilon = 1e-5


class Macaron(Layer, tag="macaron"):
    """The attention between two half feed-forward layers, Lu et al. 2019; both together have `hidden_units`."""

    takes = ("dropout", "seed")
    norm: Norm = "layer"
    epsilon: Epsilon = 1e-5
