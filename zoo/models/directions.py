"""Checks that a stack looks in the directions that a model needs: back alone, or back and ahead."""

from zoo.core.protocols import Depth


def check_causal(model, stack):
    """Check that a decoder computes position j from positions up to j alone.

    Raises:
        ValueError: the stack does not declare `causal`.
    """
    if not Depth.of(stack).causal:
        raise _refusal(model, stack, "causal", "looks at what is still to be written")


def check_both_ways(model, stack):
    """Check that in an encoder a position may look at later ones.

    Raises:
        ValueError: the stack does not declare `both_ways`.
    """
    if not Depth.of(stack).both_ways:
        raise _refusal(model, stack, "both_ways", "looks back alone")


def _refusal(model, stack, trait, why):
    return ValueError(
        f"{type(model).__name__} cannot have {type(stack).__name__} {stack.name!r} here, which {why}. Expected a stack "
        f"of blocks whose attentions declare {trait}=True (zoo.core.protocols.Attention); zoo.attention."
        "MultiHeadAttention does."
    )
