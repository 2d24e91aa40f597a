"""What a search has written already, and what is added to the scores of single tokens."""

from keras import ops

BARRED = -1e30  # added to the score of a token that may not be written


def highest(scores, count):
    """`ops.top_k` with int32 ids."""
    values, ids = ops.top_k(scores, count)
    return values, ops.cast(ids, "int32")


def at_most(count, scores):
    """`count`, or how many scores there are: a number, or a tensor where a shortlist decides it."""
    there = ops.shape(scores)[-1]
    return min(count, there) if isinstance(there, int) else ops.minimum(count, there)


class Written:
    """What is written already, prompts included: `tokens (batch, beams, time)`, the first `at` of them; -1 is none."""

    def __init__(self, position, tokens, before):
        self.at, self.tokens = position, tokens
        if before is not None:
            prompts = right_aligned(*before)[:, None, :]
            time = ops.shape(prompts)[2]
            prompts = ops.broadcast_to(prompts, (ops.shape(tokens)[0], tokens.shape[1], time))
            self.at, self.tokens = position + time, ops.concatenate([prompts, tokens], axis=2)
        self.places = ops.arange(ops.shape(self.tokens)[2], dtype="int32")
        self.there = self.places < self.at
        if before is not None:
            self.there = ops.logical_and(self.there, self.tokens >= 0)

    def repeating(self, n, most):
        """`(batch, beams, time)`: whether a token, written again now, would end an n-gram a second time.

        That is: whether the n - 1 tokens before it are the last n - 1 of all. They are counted, because a sum takes a
        graph fewer nodes than a conjunction; what does not depend on the tokens leaves the loop.
        """
        back = ops.arange(1, most, dtype="int32")[:, None]
        earlier = self.places - back
        matters = ops.logical_and(earlier >= 0, back < n[:, :, None])
        same = ops.cast(self._at(earlier) == self._at(self.at - back), "float32")
        equal = ops.sum(same * ops.cast(matters, "float32"), axis=2)
        return ops.logical_and(equal >= ops.cast(ops.where(n > 0, n - 1, most), "float32"), self.there)

    def ends_with(self, pieces):
        """Whether the last tokens are `pieces (batch or 1, 1, words, n)`, of which -1 is anything: `(..., words)`.

        A piece that cannot be written, -2 (`places_of`), is equal to none.
        """
        n = ops.shape(pieces)[3]
        last = self.at - n + ops.arange(n, dtype="int32")
        tail = ops.where(last >= 0, ops.take(self.tokens, ops.maximum(last, 0), axis=2), -1)[:, :, None, :]
        return ops.all(ops.logical_or(pieces == -1, pieces == tail), axis=3)

    def _at(self, places):
        return ops.take(self.tokens, ops.maximum(places, 0), axis=2)


def right_aligned(token_ids, lengths):
    """Rows that are padded on the right, `(batch, time)`, so that all end at the same place; -1 fills the left."""
    time = ops.shape(token_ids)[1]
    places = ops.arange(time, dtype="int32")[None, :] - (time - lengths[:, None])
    return ops.where(places >= 0, ops.take_along_axis(token_ids, ops.maximum(places, 0), axis=1), -1)


def barred(scores, there, ids):
    """Of each of the `ids (batch, beams, n)` that is `there`, BARRED at its place in zeros like `scores`."""
    return scattered(scores, there, ids, ops.full_like(ids, BARRED, dtype="float32"))


def scattered(scores, there, ids, values):
    """Zeros like `scores (batch, beams, vocabulary)` with `values` where the `ids` are; values of one id are equal."""
    batch, beams, vocabulary = ops.shape(scores)
    nowhere = batch * beams * vocabulary
    rows = ops.reshape(ops.arange(batch * beams, dtype="int32") * vocabulary, (batch, beams, 1))
    places = ops.reshape(ops.where(there, rows + ids, nowhere), (-1, 1))
    flat = ops.scatter_update(ops.zeros((nowhere + 1,), dtype="float32"), places, ops.reshape(values, (-1,)))
    return ops.reshape(flat[:-1], (batch, beams, vocabulary))


def places_of(ids, candidates):
    """The place of each id in ascending `candidates`; -1 stays, and an id that is not there becomes -2."""
    place = ops.sum(ops.cast(candidates < ids[..., None], "int32"), axis=-1)
    there = ops.any(candidates == ids[..., None], axis=-1)
    return ops.where(there, place, ops.where(ids < 0, ids, -2))
