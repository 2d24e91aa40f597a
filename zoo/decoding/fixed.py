"""Rules that belong to a model, and not to a request."""

from dataclasses import dataclass

from keras import ops


@dataclass(frozen=True)
class Fixed:
    """Rules that belong to a model and hold in each of its searches, whatever other rules are given.

    Args:
        forced_tokens: ids that every output begins with, such as that of its language. They cost nothing: their log p
            is 0, unlike that of the rule of this name, whose tokens follow them.
        barred_tokens: ids that are never written. Their probability is 0, and those of the others add up to 1.
        bad_words: sequences of ids that are never written, beside those of the rule of this name.
        renormalize: whether log-probabilities are normalised again behind all rules.

    Raises:
        ValueError: a token is forced and barred.
    """

    forced_tokens: tuple[int, ...] = ()
    barred_tokens: tuple[int, ...] = ()
    bad_words: tuple[tuple[int, ...], ...] = ()
    renormalize: bool = False

    def __post_init__(self):
        both = sorted({*self.forced_tokens} & {*self.barred_tokens})
        if both:
            raise ValueError(f"forced_tokens and barred_tokens have no id in common; both have {both}. Leave one out.")

    @property
    def tensors(self):
        """The rules that there are, as tensors of ids."""
        most = max(map(len, self.bad_words), default=0)
        filled = tuple((-1,) * (most - len(word)) + tuple(word) for word in self.bad_words)
        found = {"forced_tokens": self.forced_tokens, "barred_tokens": self.barred_tokens, "bad_words": filled}
        return {name: ops.convert_to_tensor([ids], "int32") for name, ids in found.items() if ids}


NOTHING = Fixed()
