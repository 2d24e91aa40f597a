"""Embedding of a text by sentences, the last one first: each is the sum of its words, weighted by their places."""

from typing import Any

from keras import initializers, layers, ops

from zoo.core import protocols
from zoo.core.masks import ImplicitMasks, wide
from zoo.core.registry import register
from zoo.embeddings.tokens import as_ids

WORDS = 8  # tokens of a usual sentence


@register
class SentenceEmbedding(ImplicitMasks, layers.Layer):
    """`x_s = sqrt(units) sum_j m_j * E[id_{s,j}]` of the words `j` of sentence `s`: one vector a sentence.

    The masks `m_j`, one vector for each place in a sentence, are trained; without them a sentence would be a bag of
    words. They start with mean 1 and standard deviation `spread`. With 1, a sentence and the same words in another
    order are far apart; where they are near each other, a model may learn what does not depend on the order and nothing
    else. Where the order hardly matters, 0.2 learns sooner, because a word then looks alike at all places. Entries of
    `E` start with variance `1 / (8 (1 + spread^2) units)`, so that a sentence of eight words has variance 1, like the
    positions that are added to it.

    The last sentence comes first. The position of a sentence therefore says how far it is from the end of the text,
    where a question usually stands, and the latest fact about something is the first one that is found.

    A sentence ends with one of the tokens that were given to `mark`, and at the end of the text; the last token of the
    text, EOS, belongs to its last sentence. Which tokens end a sentence is stored in a weight that is not trained, so
    files keep it. Before `mark` is called, each text is one sentence.

    Shapes: ids `(batch, time)` int32, `mask (batch, time)` bool, True = keep (None keeps all) -> `(x, mask)`: `(batch,
    sentences, units)` and `(batch, sentences)` bool, with `sentences = ceil(time / shortest)`. A text of `n` tokens has
    room for `ceil(n / shortest)` sentences; if it has more, because some are shorter, its first sentences are left out.
    Cost: `O(time * sentences * units)` for the sums.

    Args:
        vocab_size: number of ids.
        units: width of a vector.
        longest: number of masks; words further back in their sentence share the last.
        shortest: tokens of a sentence at least, its full stop among them. 1 is always right; a larger number saves
            work.
        spread: how much the order of words counts from the start: standard deviation of the masks.

    Raises:
        ValueError: a size is not a positive integer, or the spread is negative.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import SentenceEmbedding
        >>> embedding = SentenceEmbedding(7, 4, shortest=2)
        >>> embedding.mark([0, 0, 0, 0, 1, 0, 0])
        >>> x, mask = embedding(np.array([[5, 4, 6, 6, 4, 3]]), mask=np.ones((1, 6), "bool"))
        >>> tuple(x.shape), np.asarray(mask).tolist()
        ((1, 3, 4), [[True, True, False]])

    Reference: https://arxiv.org/abs/1807.03819, section 3.1 (after https://arxiv.org/abs/1612.03969, equation 1); the
    order is that of https://arxiv.org/abs/1503.08895, section 4.1.
    """

    traits = protocols.Embedding(gathers=True, reads_sentences=True)  # one vector for each sentence

    def __init__(
        self,
        vocab_size: int,
        units: int,
        longest: int = 16,
        shortest: int = 1,
        spread: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{**kwargs, "autocast": False})  # ids are not rounded
        sizes = {"vocab_size": vocab_size, "units": units, "longest": longest, "shortest": shortest}
        for name, value in sizes.items():
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"SentenceEmbedding needs a positive integer as {name}. Received: {value!r}.")
        if not isinstance(spread, int | float) or not 0 <= spread < float("inf"):
            raise ValueError(f"SentenceEmbedding needs a spread of at least 0. Received: {spread!r}.")
        self.vocab_size, self.units, self.longest, self.shortest = sizes.values()
        self.spread = spread

    def build(self, ids_shape=None):
        words = initializers.RandomNormal(stddev=(WORDS * (1 + self.spread**2) * self.units) ** -0.5)
        spread = initializers.RandomNormal(1.0, self.spread)
        self.matrix = self.add_weight(name="matrix", shape=(self.vocab_size, self.units), initializer=words)
        self.masks = self.add_weight(name="masks", shape=(self.longest, self.units), initializer=spread)
        self.ends = self.add_weight(
            name="ends", shape=(self.vocab_size,), dtype="int32", initializer="zeros", trainable=False
        )

    def mark(self, ends):
        """Tell for every id, `(vocab_size,)`, whether it ends a sentence (1) or not (0): `zoo.text.sentence_ends`."""
        if not self.built:
            self.build()
        self.ends.assign(ends)

    def call(self, ids, mask=None, training=None):
        ids, mask = as_ids(ids), ops.ones_like(ids, dtype="bool") if mask is None else mask
        member, kept = self._members(ids, mask)
        words = ops.take(ops.cast(self.matrix, self.compute_dtype), ids, axis=0)
        masks = ops.take(ops.cast(self.masks, self.compute_dtype), self._places(member, mask), axis=0)
        words = wide(words * masks)
        sums = ops.matmul(ops.cast(member, words.dtype), words) * self.units**0.5
        return ops.cast(sums, self.compute_dtype), kept

    def _members(self, ids, mask):
        """Which token is in which sentence, `(batch, sentences, time)` float32; and which sentences there are."""
        follows = ops.pad(ops.take(self.ends, ids, axis=0)[:, :-1] > 0, ((0, 0), (1, 0)))
        goes_on = ops.pad(mask[:, 1:], ((0, 0), (0, 1)))  # the last token begins no sentence
        begins = ops.cast(ops.logical_and(ops.logical_and(follows, goes_on), mask), "int32")
        later = ops.sum(begins, axis=1, keepdims=True) - ops.cumsum(begins, axis=1)
        numbers = ops.arange((ops.shape(ids)[1] + self.shortest - 1) // self.shortest, dtype="int32")
        length = ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)
        room = (length + self.shortest - 1) // self.shortest
        kept = numbers < ops.minimum(room, ops.sum(begins, axis=1, keepdims=True) + 1)
        member = ops.logical_and(later[:, None, :] == numbers[:, None], mask[:, None, :])
        return ops.cast(ops.logical_and(member, kept[:, :, None]), "float32"), kept

    def _places(self, member, mask):
        """The place of each token in its sentence, from 0, at most `longest - 1`: `(batch, time)` int32."""
        length = ops.sum(ops.cast(mask, "float32"), axis=1, keepdims=True)
        first = length - ops.cumsum(ops.sum(member, axis=2), axis=1)
        offsets = ops.matmul(first[:, None, :], member)[:, 0]
        places = ops.arange(ops.shape(mask)[1], dtype="int32")[None, :] - ops.cast(offsets, "int32")
        return ops.minimum(ops.maximum(places, 0), self.longest - 1)

    def compute_mask(self, *args, **kwargs):
        return None  # it is an output
