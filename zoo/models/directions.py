"""Whether a stack looks the way that a model needs: back alone, or in both directions."""

from zoo.core.protocols import Depth


def check_writes(model, stack):
    """Of a decoder: position j may be computed from positions up to j alone.

    Raises:
        ValueError: the stack does not say that it can.
    """
    if not Depth.of(stack).causal:
        raise _refusal(model, stack, "causal", "looks at what is still to be written")


def check_reads(model, stack):
    """Of an encoder: a position may look at later ones.

    Raises:
        ValueError: the stack says that it cannot.
    """
    if not Depth.of(stack).both_ways:
        raise _refusal(model, stack, "both_ways", "looks back alone")


def _refusal(model, stack, trait, why):
    return ValueError(
        f"{type(model).__name__} cannot have {type(stack).__name__} {stack.name!r} here, which {why}. Expected a stack "
        f"of blocks whose attentions declare {trait}=True (zoo.core.protocols.Attention); zoo.attention."
        "MultiHeadAttention does."
    )
