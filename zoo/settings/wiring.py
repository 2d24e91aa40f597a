"""What the slot of the block may hold: how sub-layers are wired around the residual stream."""

from zoo.settings.layers import Layer


class PreNorm(Layer, tag="pre_norm"):
    """`x + f(norm(x))`, which deep stacks train with."""

    takes = ("dropout", "seed")


class PostNorm(Layer, tag="post_norm"):
    """`norm(x + f(x))`, Vaswani et al. 2017."""

    takes = ("dropout", "seed")


class Macaron(Layer, tag="macaron"):
    """The attention between two half feed-forward layers, Lu et al. 2019; both together have `hidden_units`."""

    takes = ("dropout", "seed")
