"""Checks that a stack looks in the directions that a model needs: back alone, or back and ahead."""

from zoo.core.protocols import Depth

OTHERWISE = {"causal": "looks at what is still to be written", "both_ways": "looks back alone"}


def check_direction(model, stack, trait):
    """Check that a decoder is "causal", or that in an encoder a position may look "both_ways".

    Raises:
        ValueError: the stack does not declare this trait.
    """
    if not getattr(Depth.of(stack), trait):
        raise ValueError(
            f"{type(model).__name__} cannot have {type(stack).__name__} {stack.name!r} here, which {OTHERWISE[trait]}. "
            f"Expected a stack of blocks whose attentions declare {trait}=True (zoo.core.protocols.Attention); "
            "zoo.attention.MultiHeadAttention does."
        )
